"""Each header's table fits its class: decoding passes the values in the table's order."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import pytest
from marks import behaviour

from rocketproof_impl.remoting import headers

PAIRS = [
    (headers.SendMessageRequestHeader, headers.SEND_V1),
    (headers.SendMessageRequestHeader, headers.SEND_V2),
    (headers.SendMessageBackRequestHeader, headers.SEND_BACK),
    (headers.EndTransactionRequestHeader, headers.END_TRANSACTION),
    (headers.CreateTopicRequestHeader, headers.CREATE_TOPIC),
    (headers.QueueRequestHeader, headers.QUEUE),
    (headers.ViewMessageRequestHeader, headers.VIEW_MESSAGE),
    (headers.TopicRequestHeader, headers.TOPIC),
    (headers.DeleteTopicRequestHeader, headers.TOPIC),
    (headers.PullMessageRequestHeader, headers.PULL),
    (headers.UnregisterClientRequestHeader, headers.UNREGISTER),
]


@behaviour("REM-04")
@pytest.mark.parametrize(("kind", "layout"), PAIRS)
def test_a_table_has_the_fields_of_its_class_in_their_order(kind: Any, layout: headers.Layout) -> None:
    made = fields(kind)
    assert [attribute for attribute, _, _, _ in layout] == [field.name for field in made]
    for field, (_, name, _, absent) in zip(made, layout, strict=True):
        if absent is headers.REQUIRED:
            continue
        assert field.default is not MISSING, name
        assert absent == field.default, name
