------------------------------- MODULE Routing -------------------------------
(* The routing model for TLC. B brokers, P producers, M sends a producer, K offset bound, C crashes. *)
EXTENDS Naturals, FiniteSets

CONSTANTS B, P, M, K, C

Broker == 0 .. B - 1
Producer == 0 .. P - 1
Queue == 0 .. 3
NoRequest == <<>>

VARIABLES
    created, queues, perm, registered, offset,  \* of each broker
    route,                                      \* the brokers that the name server knows for the topic
    cached, fallback, request, sent,            \* of each producer; a request is NoRequest or <<broker, queue>>
    crashes

topics == <<created, queues, perm>>
client == <<cached, fallback>>
vars == <<topics, registered, offset, route, client, request, sent, crashes>>

Init ==
    /\ created = [b \in Broker |-> FALSE]
    /\ queues = [b \in Broker |-> 0]
    /\ perm = [b \in Broker |-> 0]
    /\ registered = [b \in Broker |-> TRUE]
    /\ offset = [b \in Broker |-> [q \in Queue |-> 0]]
    /\ route = {}
    /\ cached = [p \in Producer |-> {}]
    /\ fallback = [p \in Producer |-> FALSE]
    /\ request = [p \in Producer |-> NoRequest]
    /\ sent = [p \in Producer |-> 0]
    /\ crashes = 0

Routed(p) == cached[p] # {} \/ fallback[p]

FetchRoute(p) ==
    /\ ~Routed(p)
    /\ cached' = [cached EXCEPT ![p] = route]
    /\ fallback' = [fallback EXCEPT ![p] = (route = {})]
    /\ UNCHANGED <<topics, registered, offset, route, request, sent, crashes>>

Refresh(p) ==
    /\ Routed(p)
    /\ route # {}
    /\ route # cached[p]
    /\ cached' = [cached EXCEPT ![p] = route]
    /\ fallback' = [fallback EXCEPT ![p] = FALSE]
    /\ UNCHANGED <<topics, registered, offset, route, request, sent, crashes>>

Send(p) ==
    /\ request[p] = NoRequest
    /\ sent[p] < M
    /\ \E b \in IF fallback[p] THEN Broker ELSE cached[p] :
        \E q \in Queue : request' = [request EXCEPT ![p] = <<b, q>>]
    /\ UNCHANGED <<topics, registered, offset, route, client, sent, crashes>>

Create(b) ==
    /\ created' = [created EXCEPT ![b] = TRUE]
    /\ queues' = [queues EXCEPT ![b] = 4]
    /\ perm' = [perm EXCEPT ![b] = 6]
    /\ registered' = [registered EXCEPT ![b] = FALSE]

Handle(p) ==
    /\ request[p] # NoRequest
    /\ LET b == request[p][1]
           q == request[p][2]
       IN  /\ offset[b][q] < K
           /\ offset' = [offset EXCEPT ![b][q] = @ + 1]
           /\ IF created[b] THEN UNCHANGED <<topics, registered>> ELSE Create(b)
    /\ request' = [request EXCEPT ![p] = NoRequest]
    /\ sent' = [sent EXCEPT ![p] = @ + 1]
    /\ UNCHANGED <<route, client, crashes>>

Register(b) ==
    /\ ~registered[b]
    /\ registered' = [registered EXCEPT ![b] = TRUE]
    /\ route' = IF created[b] THEN route \union {b} ELSE route
    /\ UNCHANGED <<topics, offset, client, request, sent, crashes>>

Lost(b, p) == request[p] # NoRequest /\ request[p][1] = b

Crash(b) ==
    /\ crashes < C
    /\ crashes' = crashes + 1
    /\ registered' = [registered EXCEPT ![b] = FALSE]
    /\ route' = route \ {b}
    /\ request' = [p \in Producer |-> IF Lost(b, p) THEN NoRequest ELSE request[p]]
    /\ UNCHANGED <<topics, offset, client, sent>>

Next ==
    \/ \E p \in Producer : FetchRoute(p) \/ Refresh(p) \/ Send(p) \/ Handle(p)
    \/ \E b \in Broker : Register(b) \/ Crash(b)

Spec == Init /\ [][Next]_vars

RECURSIVE Sum(_, _)
Sum(f, s) == IF s = {} THEN 0 ELSE LET x == CHOOSE x \in s : TRUE IN f[x] + Sum(f, s \ {x})

InQueues == \A b \in Broker, q \in Queue : offset[b][q] > 0 => q < queues[b]
NoInherit == \A b \in Broker : perm[b] % 2 = 0
Conserve == Sum([b \in Broker |-> Sum(offset[b], Queue)], Broker) = Sum(sent, Producer)
==============================================================================
