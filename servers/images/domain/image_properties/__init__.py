"""What an image may say of the guest that it wants: known properties, their values, and what excludes what.

`property_complaint` judges one property, `image_property_problems` all of an image; both are pure.
"""

from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import EARLIER_NAMES
from servers.fields import Problems
from servers.images.domain.image_properties.contradictions import IMAGE_CONTRADICTIONS, image_contradictions
from servers.images.domain.image_properties.table import PROPERTY_RULES, property_complaint
from servers.keyed_text import WHOLE, keyed_problems, texts_of

PROPERTIES_MAX = 128
PROPERTY_MAX_CHARS = 4096

__all__ = [
    "EARLIER_NAMES",
    "IMAGE_CONTRADICTIONS",
    "PROPERTY_RULES",
    "image_contradictions",
    "image_property_problems",
    "property_complaint",
]


def image_property_problems(properties: object) -> Problems:
    """{property: sentences that name it}; the key "" is for the whole, which has at most PROPERTIES_MAX items."""
    if isinstance(properties, dict) and len(properties) > PROPERTIES_MAX:
        return {
            WHOLE: [
                _(
                    "Has {count} items; at most {properties_max} are allowed.",
                    count=len(properties),
                    properties_max=PROPERTIES_MAX,
                )
            ]
        }
    found = keyed_problems(properties, property_complaint, max_chars=PROPERTY_MAX_CHARS)
    texts = {key: value for key, value in texts_of(properties).items() if key not in found}
    for key, sentence in image_contradictions(texts):
        found.setdefault(key, []).append(sentence)
    return found
