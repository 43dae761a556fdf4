---- MODULE Odd ----
\* odd, written by rocketproof
EXTENDS Integers, Sequences

CONSTANT None

Item(q, k, most, none) == CASE k < Len(q) -> q[k + 1] [] k >= Len(q) /\ k < most -> none

VARIABLES f_, i0_, m_, t0_

vars == <<f_, i0_, m_, t0_>>

Init ==
  /\ f_ \in (SUBSET (BOOLEAN \X (0..1)))
  /\ i0_ \in [BOOLEAN -> [BOOLEAN -> 0..1]]
  /\ m_ = <<<<FALSE, [t1 |-> 1]>>>>
  /\ t0_ \in {f \in [BOOLEAN \X BOOLEAN -> {0} \cup {1} \cup {0, 1}]: f[FALSE, FALSE] \in {0} /\ f[FALSE, TRUE] \in {1} /\ f[TRUE, FALSE] \in {0, 1} /\ f[TRUE, TRUE] \in {0, 1}}

\* Something is taken out.
t2_(i1_) ==
  LET t0 == ((t0_[i1_, TRUE] + t0_[i1_, FALSE]) + t0_[TRUE, i1_])
      t1 == i0_[i1_][i1_]
  IN
  /\ (~(<<i1_, 0>> \in f_) \/ (0 < t0)) = TRUE
  /\ (~(<<i1_, 1>> \in f_) \/ (1 < t0)) = TRUE
  /\ i0_' = [i0_ EXCEPT ![(IF (t1 < 1) THEN i1_ ELSE FALSE)] = [@ EXCEPT ![(IF (t1 < 1) THEN i1_ ELSE FALSE)] = (IF (t1 < 1) THEN (t1 + 1) ELSE @)]]
  /\ f_' = (f_ \ (IF (Len(m_) # 0) THEN {<<i1_, Item(m_, (IF (0 < Len(m_)) THEN 0 ELSE 1), 1, <<FALSE, [t1 |-> 0]>>)[2].t1>>} ELSE {}))
  /\ UNCHANGED <<m_, t0_>>

Next ==
  \/ \E i1_ \in BOOLEAN: t2_(i1_)

Spec ==
  /\ Init
  /\ [][Next]_vars

\* there are few
few == (((((0 + (IF (<<FALSE, 0>> \in f_) THEN 1 ELSE 0)) + (IF (<<FALSE, 1>> \in f_) THEN 1 ELSE 0)) + (IF (<<TRUE, 0>> \in f_) THEN 1 ELSE 0)) + (IF (<<TRUE, 1>> \in f_) THEN 1 ELSE 0)) <= 4)

====
