"""The database itself refuses to change an entry, to chain it twice, and to remove one that retention did not."""

from django.db import migrations

CONTENT = (
    "occurred_at",
    "action",
    "result",
    "reason",
    "user_id",
    "user_name",
    "user_project_id",
    "door",
    "address",
    "request_id",
    "target_kind",
    "target_id",
    "target_name",
    "project_id",
    "before",
    "after",
)
TABLE = "audit_log_auditlogentry"
MESSAGE = "entries of the audit log are only appended"


def _postgres():
    changed = " OR ".join(f'OLD."{name}" IS DISTINCT FROM NEW."{name}"' for name in CONTENT)
    return [
        f"""
CREATE FUNCTION audit_log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.number IS NULL OR OLD.number > COALESCE((SELECT pruned_number FROM audit_log_auditlogchain), 0) THEN
      RAISE EXCEPTION '{MESSAGE}';
    END IF;
    RETURN OLD;
  END IF;
  IF OLD.number IS NOT NULL OR {changed} THEN
    RAISE EXCEPTION '{MESSAGE}';
  END IF;
  RETURN NEW;
END $$
""",
        f"CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON {TABLE}"
        " FOR EACH ROW EXECUTE FUNCTION audit_log_append_only()",
    ]


def _sqlite():
    changed = " OR ".join(f'OLD."{name}" IS NOT NEW."{name}"' for name in CONTENT)
    return [
        f"""
CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON {TABLE} FOR EACH ROW
WHEN OLD.number IS NOT NULL OR {changed}
BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END
""",
    ]


def triggers_create(apps, schema_editor):
    for statement in _postgres() if schema_editor.connection.vendor == "postgresql" else _sqlite():
        schema_editor.execute(statement)


def triggers_drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER audit_log_append_only ON {TABLE}")
        schema_editor.execute("DROP FUNCTION audit_log_append_only()")
    else:
        schema_editor.execute("DROP TRIGGER audit_log_append_only")


class Migration(migrations.Migration):
    dependencies = [("audit_log", "0001_initial")]
    operations = [migrations.RunPython(triggers_create, triggers_drop)]
