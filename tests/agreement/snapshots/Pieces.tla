---- MODULE Pieces ----
\* pieces, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

Get(x) == CASE x # None -> x
Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\ k < most -> none

VARIABLES q, p, s, n, k, one

vars == <<q, p, s, n, k, one>>

Init ==
  /\ q = <<>>
  /\ p = <<TRUE>>
  /\ s = {}
  /\ n = 0
  /\ k = 0
  /\ one = None

\* Both sequences change.
mix(b) ==
  LET t0 == (IF (((Len(q) + Len(p)) - k) < 0) THEN 0 ELSE ((Len(q) + Len(p)) - k))
      t1 == (IF ((IF (2 < t0) THEN 2 ELSE t0) < 0) THEN 0 ELSE (IF (2 < t0) THEN 2 ELSE t0))
      t2 == (IF (Len(q) = 2) THEN Item(p, 0, 2, FALSE) ELSE (IF (Len(q) = 1) THEN Item(p, 1, 2, FALSE) ELSE FALSE))
      t3 == (IF (Len(q) = 1) THEN Item(p, 0, 2, FALSE) ELSE (IF (Len(q) = 0) THEN Item(p, 1, 2, FALSE) ELSE Item(q, 1, 2, FALSE)))
      t4 == (IF ((IF (k < Len(p)) THEN k ELSE Len(p)) < 0) THEN 0 ELSE (IF (k < Len(p)) THEN k ELSE Len(p)))
      t5 == (IF ((Len(q) - 1) < 0) THEN 0 ELSE (Len(q) - 1))
  IN
  /\ q' = SubSeq(<<(IF (0 < t1) THEN (IF (0 < t0) THEN (IF (k = 3) THEN (IF (Len(q) = 2) THEN Item(p, 1, 2, FALSE) ELSE FALSE) ELSE (IF (k = 2) THEN t2 ELSE (IF (k = 1) THEN t3 ELSE (IF (k = 0) THEN (IF (Len(q) = 0) THEN Item(p, 0, 2, FALSE) ELSE Item(q, 0, 2, FALSE)) ELSE FALSE)))) ELSE FALSE) ELSE FALSE), (IF (1 < t1) THEN (IF (1 < t0) THEN (IF (k = 2) THEN (IF (Len(q) = 2) THEN Item(p, 1, 2, FALSE) ELSE FALSE) ELSE (IF (k = 1) THEN t2 ELSE (IF (k = 0) THEN t3 ELSE FALSE))) ELSE FALSE) ELSE FALSE)>>, 1, t1)
  /\ p' = (IF (((k < 2) /\ (Len(q) < 2)) /\ (Len(p) < 2)) THEN SubSeq(<<(IF ((IF b THEN t4 ELSE t5) = 0) THEN b ELSE (IF b THEN (IF (0 < t4) THEN Item(p, 0, 2, FALSE) ELSE FALSE) ELSE (IF (0 < t5) THEN Item(q, 1, 2, FALSE) ELSE FALSE))), (IF ((IF b THEN t4 ELSE t5) = 1) THEN b ELSE (IF b THEN (IF (1 < t4) THEN Item(p, 1, 2, FALSE) ELSE FALSE) ELSE FALSE))>>, 1, ((IF b THEN t4 ELSE t5) + 1)) ELSE p)
  /\ s' = (IF b THEN ((IF ((0 \in s) = (0 < Len(q))) THEN {0} ELSE {}) \cup (IF ((1 \in s) = (1 < Len(q))) THEN {1} ELSE {})) ELSE s)
  /\ one' = (IF b THEN (IF (s = {0}) THEN 0 ELSE (IF (s = {1}) THEN 1 ELSE None)) ELSE (IF ~(0 \in s) THEN 0 ELSE (IF ~(1 \in s) THEN 1 ELSE None)))
  /\ UNCHANGED <<n, k>>

\* The numbers change.
count ==
  /\ (((((0 + (IF (0 \in s) THEN 1 ELSE 0)) + (IF (1 \in s) THEN 1 ELSE 0)) < 2) \/ (s = {})) \/ (s = {0, 1})) = TRUE
  /\ k' = (IF (k = 2) THEN 0 ELSE (IF (k < 2) THEN (k + 1) ELSE k))
  /\ n' = (IF (n = 2) THEN None ELSE (IF ((n # None) /\ (Get(n) < 2)) THEN (IF ((Get(n) + 1) <= 2) THEN (Get(n) + 1) ELSE Get(None)) ELSE n))
  /\ UNCHANGED <<q, p, s, one>>

Next ==
  \/ \E b \in BOOLEAN: mix(b)
  \/ count

Spec ==
  /\ Init
  /\ [][Next]_vars

\* true
short == (Len(q) <= 2)

====
