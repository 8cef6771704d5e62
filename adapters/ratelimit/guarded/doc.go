// Package guarded asks the limiter that all processes share no more often than it has
// to, and goes on limiting when that one is slow or gone: the request is then counted by
// a limiter inside the process.
//
// Decisions that bind this package:
//
//   - A request for which there is ample room is counted by the process, which tells
//     the shared limiter afterwards, once for many. Room is ample while half of the
//     limit is left by what the shared limiter told in the last two seconds, and while the
//     process owes it no more than a hundredth of the limit, for a second at most. Fifty
//     processes owe no more than the half that is left; where there are more of them, or where
//     others use up that half within the two seconds, each admits a hundredth too many at
//     most. Limits under 400 are always counted together. A process that is killed takes with it
//     what it owes of its last second; one that ends tells it, where the shared limiter answers.
//   - No request fails or waits longer than 30 ms because of the shared limiter.
//     After five failures in a row a circuit breaker opens and requests are
//     counted locally at once; every second one of them tries the shared limiter
//     again, and the first that succeeds closes it.
//   - A shared limiter that failed may have counted the request all the same.
//     It is counted locally then, once more perhaps: too strict by one request,
//     never an error. Refusing instead was rejected, since an outage of the counter
//     would be an outage of the API.
//   - The local count goes on from the last one known: every answer of the shared
//     limiter is remembered, with what all processes had counted by then. So a
//     process admits in an outage what was left, and not the whole limit again.
//     What others admit meanwhile it cannot know: N processes admit at most N
//     times what was left, and each the whole limit of a bucket that it had not
//     asked for within two windows.
//   - What was counted locally is owed to the shared limiter, which is told when it
//     answers again, before anything else is asked about the bucket. Else the
//     requests of an outage would count against no limit after it. One that is slow
//     counts what it is told, and the answer comes too late: so what is owed has a
//     name until an answer is heard, and told again under it only what has been
//     added since is counted. A shared limiter that lost its own counts begins from
//     what it is owed.
//   - GiveBack goes where a Take would go now. A request that was charged by one
//     limiter and is given back to the other, because the state changed between
//     the two, moves that other one by one request, and never below none. So a
//     change costs at most as many requests as were under way. Remembering the
//     limiter of each request was rejected: it takes an entry per request.
//   - A caller that goes away says nothing about the shared limiter.
package guarded
