---- MODULE Queues ----
\* queues, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

Get(x) == CASE x # None -> x
Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\ k < most -> none

VARIABLES q, jobs

vars == <<q, jobs>>

Init ==
  /\ q = <<>>
  /\ jobs = [i0 \in (0..2) |-> <<>>]

\* An element stands in line.
ask(p) ==
  /\ ((Len(q) # 2) /\ ~(((0 < Len(q)) /\ (Get(Item(q, 0, 2, None)) = p)) \/ ((1 < Len(q)) /\ (Get(Item(q, 1, 2, None)) = p)))) = TRUE
  /\ q' = SubSeq(<<(IF (Len(q) = 0) THEN p ELSE Item(q, 0, 2, None)), (IF (Len(q) = 1) THEN p ELSE Item(q, 1, 2, None))>>, 1, (Len(q) + 1))
  /\ UNCHANGED <<jobs>>

\* The first one is served.
serve(p, hot) ==
  LET t0 == Get(Item(q, (IF (0 < Len(q)) THEN 0 ELSE 2), 2, None))
  IN
  /\ ((Len(q) # 0) /\ ~(t0 = p))
  /\ q' = Tail(q)
  /\ jobs' = [[jobs EXCEPT ![p] = (IF (Len(jobs[p]) = 0) THEN SubSeq(<<(IF (Len(jobs[p]) = 0) THEN [by |-> t0, hot |-> hot] ELSE (IF (IF Item(jobs[p], 0, 1, None) = None THEN None ELSE Item(jobs[p], 0, 1, None).by) = None THEN None ELSE [by |-> Get((IF Item(jobs[p], 0, 1, None) = None THEN None ELSE Item(jobs[p], 0, 1, None).by)), hot |-> Get((IF Item(jobs[p], 0, 1, None) = None THEN None ELSE Item(jobs[p], 0, 1, None).hot))]))>>, 1, (Len(jobs[p]) + 1)) ELSE @)] EXCEPT ![p] = (IF ((Len(jobs[p]) # 0) /\ (Get((IF Item(jobs[p], (IF (0 < Len(jobs[p])) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(jobs[p], (IF (0 < Len(jobs[p])) THEN 0 ELSE 1), 1, None).by)) = t0)) THEN SubSeq(<<None>>, 1, 0) ELSE @)]

Next ==
  \/ \E p \in (0..2): ask(p)
  \/ \E p \in (0..2), hot \in BOOLEAN: serve(p, hot)

Spec ==
  /\ Init
  /\ [][Next]_vars

\* none serves itself
others == ((((Len(jobs[0]) = 0) \/ ~(Get((IF Item(jobs[0], (IF (0 < Len(jobs[0])) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(jobs[0], (IF (0 < Len(jobs[0])) THEN 0 ELSE 1), 1, None).by)) = 0)) /\ ((Len(jobs[1]) = 0) \/ ~(Get((IF Item(jobs[1], (IF (0 < Len(jobs[1])) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(jobs[1], (IF (0 < Len(jobs[1])) THEN 0 ELSE 1), 1, None).by)) = 1))) /\ ((Len(jobs[2]) = 0) \/ ~(Get((IF Item(jobs[2], (IF (0 < Len(jobs[2])) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(jobs[2], (IF (0 < Len(jobs[2])) THEN 0 ELSE 1), 1, None).by)) = 2)))

====
