package main

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// How the programs of customers take webhooks: the paths of the receiver.
const (
	takes   = "/takes"
	wavers  = "/wavers"  // every third is refused
	refuses = "/refuses" // all of them, with 500
	sleeps  = "/sleeps"  // answers too late
)

// receive serves the webhook receivers of all customers on one address of this machine.
func receive(ctx context.Context) (origin string, err error) {
	var seen atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc(takes, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc(wavers, func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1)%3 == 0 {
			http.Error(w, "the queue of this shop is full", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc(refuses, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "NullPointerException at OrderHook.java:114", http.StatusInternalServerError)
	})
	mux.HandleFunc(sleeps, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Minute):
		case <-r.Context().Done():
		}
	})
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // ends with ctx
	return "http://" + listener.Addr().String(), nil
}
