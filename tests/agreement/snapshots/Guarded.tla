---- MODULE Guarded ----
\* guarded, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

Get(x) == CASE x # None -> x
Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\ k < most -> none

VARIABLES k, x, at, y, q, bag, sent

vars == <<k, x, at, y, q, bag, sent>>

Init ==
  /\ k = 0
  /\ x = [i0 \in BOOLEAN |-> 0]
  /\ at = None
  /\ y = [i0 \in (0..1) |-> 0]
  /\ q = <<>>
  /\ bag = [m \in BOOLEAN |-> 0]
  /\ sent = [i0 \in BOOLEAN |-> {}]

\* Something is written where there is a place for it.
step ==
  LET t0 == (IF Item(q, (IF (0 < Len(q)) THEN 0 ELSE 1), 1, FALSE) THEN 1 ELSE 0)
      t1 == ((IF Get(at) THEN 1 ELSE 0) = t0)
      t2 == (bag[Get(at)] + 1)
  IN
  /\ y' = [y EXCEPT ![(IF (k < 2) THEN k ELSE 0)] = (IF (k < 2) THEN 1 ELSE @), ![(IF (2 <= k) THEN (k - 2) ELSE 0)] = (IF (2 <= k) THEN 2 ELSE @)]
  /\ x' = [x EXCEPT ![TRUE] = (IF ((at # None) /\ Get(at)) THEN 1 ELSE @), ![(IF (((at # None) /\ (1 < k)) /\ (Get(at) # TRUE)) THEN Get(at) ELSE FALSE)] = (IF (((at # None) /\ (1 < k)) /\ (Get(at) # TRUE)) THEN 0 ELSE @)]
  /\ q' = (IF (Len(q) # 0) THEN Tail(q) ELSE (IF ((Len(q) = 0) /\ (at # None)) THEN SubSeq(<<(IF (Len(q) = 0) THEN Get(at) ELSE Item(q, 0, 1, FALSE))>>, 1, (Len(q) + 1)) ELSE q))
  /\ sent' = [sent EXCEPT ![(IF ((at # None) /\ (Len(q) # 0)) THEN Get(at) ELSE FALSE)] = (@ \cup (IF ((at # None) /\ (Len(q) # 0)) THEN {<<Get(at), Item(q, (IF (0 < Len(q)) THEN 0 ELSE 1), 1, FALSE)>>} ELSE {}))]
  /\ bag' = [[bag EXCEPT ![(IF ((at # None) /\ (((0 + bag[FALSE]) + bag[TRUE]) = 0)) THEN Get(at) ELSE FALSE)] = (IF ((at # None) /\ (((0 + bag[FALSE]) + bag[TRUE]) = 0)) THEN (IF (((Len(q) # 0) /\ (0 < bag[TRUE])) /\ t1) THEN ((IF (((at # None) /\ (((0 + bag[FALSE]) + bag[TRUE]) = 0)) /\ t1) THEN t2 ELSE bag[Item(q, (IF (0 < Len(q)) THEN 0 ELSE 1), 1, FALSE)]) + (-1)) ELSE t2) ELSE @)] EXCEPT ![(IF ((Len(q) # 0) /\ (0 < bag[TRUE])) THEN Item(q, (IF (0 < Len(q)) THEN 0 ELSE 1), 1, FALSE) ELSE FALSE)] = (IF ((Len(q) # 0) /\ (0 < bag[TRUE])) THEN ((IF (((at # None) /\ (((0 + bag[FALSE]) + bag[TRUE]) = 0)) /\ t1) THEN t2 ELSE bag[Item(q, (IF (0 < Len(q)) THEN 0 ELSE 1), 1, FALSE)]) + (-1)) ELSE @)]
  /\ k' = (IF (k = 3) THEN 0 ELSE (IF (k < 3) THEN (k + 1) ELSE k))
  /\ UNCHANGED <<at>>

\* Another place is chosen.
move(p) ==
  /\ ((k = 0) \/ (k = 2)) = TRUE
  /\ (((at = None) \/ (Get(at) = TRUE)) \/ (Len(q) = 0)) = TRUE
  /\ at' = p
  /\ UNCHANGED <<k, x, y, q, bag, sent>>

Next ==
  \/ step
  \/ \E p \in (BOOLEAN \cup {None}): move(p)

Spec ==
  /\ Init
  /\ [][Next]_vars

\* true
few == (k <= 3)

====
