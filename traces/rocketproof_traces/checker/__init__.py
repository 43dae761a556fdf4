"""The history checker: search for an order of specification steps that explains the recorded answers. If there is none, report the first
event that no order explains, and the guard that refuses it.

Input: the exchanges of a history or a recording, and a profile. Output: a `HistoryVerdict` or a `Judgement`. Read `histories` first.

* `requests` checks the exchanges of a history and selects what is judged.
* `partition` divides a history into partitions that are judged separately. `left_out` counts the requests that are not judged.
* `partition_checker` judges one partition, `placement_checker` one whose records may be stored elsewhere than requested, `recorded` a
  recording.
* `placement` and `group_offsets` read from requests what decides where records and offsets are stored. `max_offsets` bounds queue ends.
* `shape` slices the specification for a partition, and `machine` runs the slice.
* `steps` defines requests and their steps. `sends`, `administration` and `queries` are the client requests. `background` has
  the steps that no judged client requests.
* `search` finds an order of steps; `persistent_set` selects the requests that can affect an answer. `refusals` states why no order was
  found, and `findings` describes the first unexplained event.
* `recordings` judges a recording file case by case.
"""
