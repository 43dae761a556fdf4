---- MODULE Paths ----
\* paths, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

VARIABLES n, calm, waits_grows, waits_comes_back, waits_soon

vars == <<n, calm, waits_grows, waits_comes_back, waits_soon>>

Init ==
  /\ n \in {0, 1}
  /\ calm = TRUE
  /\ waits_grows \in {0, 1, 2}
  /\ waits_comes_back \in {0, 1, 2}
  /\ waits_soon \in {0, 1, 2, 3, 4}
  /\ (waits_grows = (IF (n = 4) THEN 0 ELSE (IF (n < 4) THEN 1 ELSE 2)))
  /\ (waits_comes_back = (IF (n = 4) THEN 0 ELSE (IF (n = 5) THEN (IF (4 <= n) THEN 1 ELSE 2) ELSE 0)))
  /\ (waits_soon = (IF (n = 4) THEN 0 ELSE (IF (n = 1) THEN 1 ELSE 0)))

\* Count on.
tick ==
  LET t0 == (waits_soon + (IF (n # (n + 1)) THEN 1 ELSE 0))
  IN
  /\ (n < 5)
  /\ n' = (n + 1)
  /\ waits_grows' = (IF ((n + 1) = 4) THEN 0 ELSE (IF (waits_grows # 0) THEN (IF ((n + 1) < 4) THEN 1 ELSE 2) ELSE 0))
  /\ waits_comes_back' = (IF ((n + 1) = 4) THEN 0 ELSE (IF ((waits_comes_back # 0) \/ ((n + 1) = 5)) THEN (IF (4 <= (n + 1)) THEN 1 ELSE 2) ELSE 0))
  /\ waits_soon' = (IF ((n + 1) = 4) THEN 0 ELSE (IF (waits_soon # 0) THEN (IF (t0 < 4) THEN t0 ELSE 4) ELSE (IF ((n + 1) = 1) THEN 1 ELSE 0)))
  /\ UNCHANGED <<calm>>

\* Go back from the top.
back ==
  /\ (n = 5)
  /\ n' = 4
  /\ waits_grows' = 0
  /\ waits_comes_back' = 0
  /\ waits_soon' = 0
  /\ UNCHANGED <<calm>>

\* The mood changes, at the bottom only.
turn ==
  /\ calm' = (IF (n = 0) THEN ~calm ELSE calm)
  /\ waits_grows' = (IF (n = 4) THEN 0 ELSE (IF (waits_grows # 0) THEN (IF (n < 4) THEN 1 ELSE 2) ELSE 0))
  /\ waits_comes_back' = (IF (n = 4) THEN 0 ELSE (IF ((waits_comes_back # 0) \/ (n = 5)) THEN (IF (4 <= n) THEN 1 ELSE 2) ELSE 0))
  /\ waits_soon' = (IF (n = 4) THEN 0 ELSE (IF (waits_soon # 0) THEN (IF (waits_soon < 4) THEN waits_soon ELSE 4) ELSE (IF (n = 1) THEN 1 ELSE 0)))
  /\ UNCHANGED <<n>>

Next ==
  \/ tick
  \/ back
  \/ turn

Spec ==
  /\ Init
  /\ [][Next]_vars
  /\ WF_vars(tick)

\* it stays up
stays == <>[](4 <= n)

\* it grows to 4
grows == (waits_grows # 2)

\* it grows to 4
grows_in_the_end == (waits_grows # 0) ~> (waits_grows = 0)

\* from the top it comes back
comes_back == (waits_comes_back # 2)

\* it comes there in three ticks
soon == (waits_soon # 4)

====
