"""Mutants of topic creation by a message: its values, the lock, and the order of put, version, persist and registration."""

from __future__ import annotations

from ..patch import Patch, Text

_TOPICS = "rocketproof_impl.broker.topics"
_MANAGER = f"{_TOPICS}:TopicConfigManager"
_LIKE, _TEMPLATE = f"{_TOPICS}:like_template", f"{_MANAGER}._template"
_CREATE, _ADD, _AS_GIVEN = f"{_MANAGER}._create", f"{_MANAGER}._add", f"{_MANAGER}._as_given"

_VERSION = "self.data_version.next_version(self._clock.now())"
_REGISTER = "await self._register(config)"
_PUT = "self._put(config)\n"

PATCHES: dict[str, Patch] = {
    # The new topic
    "M-24": [Text(_LIKE, "without_inherit(template.perm)", "template.perm")],
    "M-25": [Text("rocketproof_impl.topic:without_inherit", "perm & ~INHERIT", "perm - INHERIT")],
    "M-26": [Text(_LIKE, "without_inherit(template.perm)", "6")],
    "M-27": [Text(_LIKE, "min(client_queue_nums", "max(client_queue_nums")],
    "M-28": [Text(_LIKE, "template.write_queue_nums", "template.read_queue_nums")],
    "M-29": [
        Text(
            _LIKE,
            "queue_nums = max(0, min(client_queue_nums, template.write_queue_nums))",
            "queue_nums = min(client_queue_nums, template.write_queue_nums)\nif queue_nums < 0:\n    queue_nums = 1",
        )
    ],
    "M-30": [Text(_LIKE, "template.topic_filter_type, sys_flag)", "template.topic_filter_type, sys_flag, template.order)")],
    "M-31": [Text(_LIKE, "perm, template.topic_filter_type, sys_flag)", "perm, topic_sys_flag=sys_flag)")],
    "M-32": [Text(_LIKE, "template.topic_filter_type, sys_flag)", "template.topic_filter_type)")],
    # The template
    "M-33": [Text(_TEMPLATE, "template.perm = READ | WRITE", "template = template.copy()\ntemplate.perm = READ | WRITE")],
    "M-34": [Text(_TEMPLATE, "template.perm = READ | WRITE", f"template.perm = READ | WRITE\n{_VERSION}")],
    "M-35": [Text(_TEMPLATE, "default_topic == self._profile.template and ", "")],
    "M-36": [Text(_TEMPLATE, "and not self._settings", "and self._settings")],
    # The lock
    "M-37": [Text(_CREATE, "config = self.select(topic)", "config = None")],
    "M-38": [
        Text(_CREATE, "create_new = False", "create_new = False\nfound = None"),
        Text(_CREATE, "config = self.select(topic)", "config = found = self.select(topic)"),
        Text(_CREATE, "self.lock.release()", "if found is None:\n    self.lock.release()"),
    ],
    "M-39": [Text(_CREATE, "acquire(LOCK_TIMEOUT_MILLIS)", "acquire()")],
    "M-40": [
        Text(
            _CREATE,
            "if await self.lock.acquire(LOCK_TIMEOUT_MILLIS):",
            "if not await self.lock.acquire(LOCK_TIMEOUT_MILLIS):\n    raise null_pointer()\nelse:",
        )
    ],
    # Put, version, persist, register
    "M-41": [Text(_ADD, "self.persist()", "pass")],
    "M-42a": [Text(_ADD, "self.persist()\n", ""), Text(_ADD, _PUT, f"self.persist()\n{_PUT}")],
    "M-42b": [Text(_ADD, "self.persist()\n", ""), Text(_ADD, _VERSION, f"self.persist()\n{_VERSION}")],
    "M-43": [Text(_ADD, "self.persist()\n", ""), Text(_CREATE, "await UNLOCKED", "self.persist()\nawait UNLOCKED")],
    "M-44": [Text(_ADD, "self.persist()\n", ""), Text(_CREATE, _REGISTER, f"{_REGISTER}\nself.persist()")],
    "M-45": [Text(_CREATE, "create_new = True", _REGISTER)],
    "M-46": [
        Text(
            _CREATE,
            "if config is not None:\n"
            "    await FOUND.carrying(config)\n"
            "    return config\n"
            "await TEMPLATE_WANTED\n"
            "config = await build()\n"
            "if config is None:\n"
            "    await REFUSED\n"
            "else:\n"
            "    await BUILT.carrying(config)\n"
            "    await self._add(config)\n"
            "    create_new = True",
            "if config is not None:\n"
            "    await FOUND.carrying(config)\n"
            "else:\n"
            "    await TEMPLATE_WANTED\n"
            "    config = await build()\n"
            "    if config is None:\n"
            "        await REFUSED\n"
            "    else:\n"
            "        await BUILT.carrying(config)\n"
            "        await self._add(config)\n"
            "create_new = config is not None",
        )
    ],
    "M-47": [Text("rocketproof_impl.broker.registration:Registration.register_created", "(False, True, True)", "(False, False, True)")],
    "M-48": [Text(_ADD, _VERSION, "pass")],
    "M-49": [Text(_ADD, _VERSION, f"{_VERSION}\n{_VERSION}")],
    # Topics of send-back
    "M-50": [
        Text(
            _AS_GIVEN,
            "return TopicConfig",
            "template = self._template(self._profile.template)\n"
            "if template is None or not is_inherited(template.perm):\n"
            "    return None\n"
            "return TopicConfig",
        )
    ],
    "M-51": [
        Text(
            f"{_MANAGER}.create_topic_in_send_message_back",
            "config = self.select(topic)\n",
            "self.table.pop(topic, None)\nconfig = self.select(topic)\n",
        )
    ],
    # Attributes
    "M-164a": [Text("rocketproof_impl.broker.attributes:altered", "**(current or {}), ", "")],
    "M-164b": [Text("rocketproof_impl.broker.attributes:altered", ' if name not in signed["delete"]', "")],
    "M-164c": [Text("rocketproof_impl.broker.attributes:altered", "for kind, names in signed.items():", "for kind, names in ():")],
    "M-165": [
        Text(
            "rocketproof_impl.broker.admin:AdminBrokerProcessor._altered",
            "return altered(",
            "return altered({}, {}, self._broker.profile) if stored else altered(",
        )
    ],
}
