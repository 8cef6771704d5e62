// Package circuitbreaker holds what adapters share that call a service over the network: a circuit
// breaker, and the connections.
//
// Decisions that bind this package:
//
//   - A failed request does not mean that the service is gone. Any response, whatever it says,
//     shows that the service is there. Only a refused or broken connection, a name that is not
//     found and a timeout show that it is not.
//   - One caller cannot open the breaker of a pricing or routing service: that takes failures
//     of several different questions by several callers, and no response to any of them since.
//   - A breaker is open only for callers whose own calls failed since the last response. When
//     two businesses have slow trips, a third notices nothing. In an outage each loses one
//     timeout.
//   - An open breaker lets a share of these callers' calls through, one each Interval, also
//     while earlier ones hang. Any response closes it. A half-open state with a fixed number
//     of tries, as in sony/gobreaker, was rejected: while the tries hang until their timeout,
//     a service that is back goes unnoticed.
//   - Live and the sandbox have their own breakers and connections, and one business uses at
//     most half of those connections. So neither hanging requests nor failures of the sandbox
//     affect live.
//
// It implements no port and imports only domain. It is the one package below adapters that
// other adapters may import.
package circuitbreaker
