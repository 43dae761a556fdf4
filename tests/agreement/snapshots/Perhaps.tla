---- MODULE Perhaps ----
\* perhaps, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

Get(x) == CASE x # None -> x
Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\ k < most -> none

VARIABLES one, seen, later

vars == <<one, seen, later>>

Init ==
  /\ one \in ([b: BOOLEAN, c: (BOOLEAN \cup {None})] \cup {None})
  /\ seen = FALSE
  /\ later = <<>>
  /\ (((one = None) = (one = None)) /\ ((one = None) \/ (((IF one = None THEN None ELSE one.b) = TRUE) /\ ((IF one = None THEN None ELSE <<one.c>>) = <<None>>)))) = TRUE

\* What was taken, or what comes, is put in a sequence.
put(x_b, x_c) ==
  /\ ((x_c = None) = (x_b = None))
  /\ ((x_b = None) # (one = None))
  /\ one' = (IF (x_b # None) THEN (IF x_b = None THEN None ELSE [b |-> Get(x_b), c |-> Get(x_c)[1]]) ELSE None)
  /\ later' = (IF (Len(later) = 0) THEN SubSeq(<<(IF (Len(later) = 0) THEN (IF (one = None) THEN (IF x_b = None THEN None ELSE [b |-> Get(x_b), c |-> Get(x_c)[1]]) ELSE [b |-> ~one.b, c |-> one.c]) ELSE (IF (IF Item(later, 0, 1, None) = None THEN None ELSE Item(later, 0, 1, None).b) = None THEN None ELSE [b |-> Get((IF Item(later, 0, 1, None) = None THEN None ELSE Item(later, 0, 1, None).b)), c |-> Get((IF Item(later, 0, 1, None) = None THEN None ELSE <<Item(later, 0, 1, None).c>>))[1]]))>>, 1, (Len(later) + 1)) ELSE later)
  /\ seen' = (IF ((one # None) /\ (one.c = TRUE)) THEN TRUE ELSE seen)

\* It is taken from there.
take ==
  /\ ((Len(later) # 0) /\ (one = None))
  /\ one' = (IF (IF Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None).b) = None THEN None ELSE [b |-> Get((IF Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None).b)), c |-> Get((IF Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None) = None THEN None ELSE <<Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None).c>>))[1]])
  /\ later' = Tail(later)
  /\ UNCHANGED <<seen>>

Next ==
  \/ \E x_b \in (BOOLEAN \cup {None}), x_c \in ({<<x>>: x \in (BOOLEAN \cup {None})} \cup {None}): put(x_b, x_c)
  \/ take

Spec ==
  /\ Init
  /\ [][Next]_vars

\* its parts belong together
whole == (((one = None) = (one = None)) /\ ((Len(later) = 0) \/ (((IF Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None) = None THEN None ELSE <<Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None).c>>) = None) = ((IF Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None) = None THEN None ELSE Item(later, (IF (0 < Len(later)) THEN 0 ELSE 1), 1, None).b) = None))))

\* an arbitrary claim, which holds
never == ((~seen \/ ~(((IF one = None THEN None ELSE one.b) = FALSE) /\ ((IF one = None THEN None ELSE <<one.c>>) = <<None>>))) \/ (Len(later) = 1))

====
