from importlib import import_module

from django.db import migrations

_BEFORE = import_module("placement.migrations.0002_claims_and_counts").CLAIM_ONE
_BEFORE_SIGNATURE = "placement_claim_one(uuid, text, text, text, boolean, uuid, text[], bigint[])"
_SIGNATURE = "placement_claim_one(uuid, text, text, text, boolean, uuid, text[], bigint[], bigint)"

# As before, and: NULL where there is room, but the provider is not at the generation that was seen any more. The UPDATE
# that locks the provider looks again, after a wait at the newest row.
CLAIM_ONE = """
CREATE OR REPLACE FUNCTION placement_claim_one(
    consumer uuid, project text, "user" text, type text, by_client boolean, provider uuid, names text[], amounts bigint[],
    seen bigint DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    consumer_id bigint;
    the_provider_id bigint;
    given integer;
BEGIN
    SELECT count(*) INTO given
      FROM placement_resourceprovider p
      JOIN placement_inventory i ON i.provider_id = p.id
      JOIN placement_resourceclass c ON c.id = i.resource_class_id
      JOIN unnest(names, amounts) AS want(name, amount) ON want.name = c.name
     WHERE p.uuid = provider AND i.used + want.amount <= i.capacity
       AND want.amount >= i.min_unit AND want.amount <= i.max_unit AND want.amount % i.step_size = 0;
    IF given < cardinality(names) THEN
        RETURN false;
    END IF;

    IF seen IS NOT NULL THEN
        PERFORM 1 FROM placement_resourceprovider WHERE uuid = provider AND generation = seen;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;

    INSERT INTO placement_consumer (uuid, project_id, user_id, consumer_type, by_client, generation, created_at, updated_at)
    VALUES (consumer, project, "user", type, by_client, 1, statement_timestamp(), statement_timestamp())
    ON CONFLICT (uuid) DO NOTHING
    RETURNING id INTO consumer_id;
    IF consumer_id IS NULL THEN
        RETURN false;
    END IF;

    UPDATE placement_resourceprovider
       SET generation = generation + 1, changed = pg_current_xact_id()::text::bigint,
           updated_at = statement_timestamp()
     WHERE uuid = provider AND (seen IS NULL OR generation = seen)
    RETURNING id INTO the_provider_id;

    WITH gave AS (
        UPDATE placement_inventory i SET used = used + want.amount
          FROM unnest(names, amounts) AS want(name, amount)
          JOIN placement_resourceclass c ON c.name = want.name
         WHERE i.provider_id = the_provider_id AND i.resource_class_id = c.id
           AND i.used + want.amount <= i.capacity
           AND want.amount >= i.min_unit AND want.amount <= i.max_unit AND want.amount % i.step_size = 0
        RETURNING i.resource_class_id, want.amount
    )
    INSERT INTO placement_allocation (consumer_id, provider_id, resource_class_id, used)
    SELECT consumer_id, the_provider_id, resource_class_id, amount FROM gave;
    GET DIAGNOSTICS given = ROW_COUNT;
    IF given < cardinality(names) THEN
        RAISE EXCEPTION 'the inventories of provider % gave to somebody else', provider USING ERRCODE = 'check_violation';
    END IF;
    RETURN true;
END
$$
"""


def make_claim_one(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP FUNCTION {_BEFORE_SIGNATURE}", None)
        schema_editor.execute(CLAIM_ONE, None)


def claim_one_as_before(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP FUNCTION {_SIGNATURE}", None)
        schema_editor.execute(_BEFORE, None)


class Migration(migrations.Migration):
    dependencies = [
        ("placement", "0002_claims_and_counts"),
    ]

    operations = [
        migrations.RunPython(make_claim_one, claim_one_as_before),
    ]
