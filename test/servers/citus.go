package main

import (
	"context"
	"strings"

	"waybill/test/backend"
)

// citusWorkers is how many workers there are beside the coordinator.
const citusWorkers = 2

// startCitus returns the coordinator of a cluster, with its workers beside it.
func startCitus(ctx context.Context) (*server, error) {
	cluster, err := backend.StartCitus(ctx, citusWorkers)
	if err != nil {
		return nil, err
	}
	var workers []string
	for _, w := range cluster.Workers {
		workers = append(workers, w.URL)
	}
	return &server{
		env:  postgresEnv,
		url:  cluster.Coordinator.URL,
		from: "Citus started for this run: " + cluster.Coordinator.URL + " with workers " + strings.Join(workers, ", "),
		stop: cluster.Stop,
		also: []string{backend.CitusWorkersEnv + "=" + strings.Join(workers, " ")},
	}, nil
}
