package main

import (
	"time"

	"junction/router"
)

// probeEvery is how often what a server can do is tried where no call does it.
const probeEvery = 15 * time.Second

// probesOfWorker are a worker's: it lives long, and what it knows of servers is scraped.
func probesOfWorker() router.ProbeOptions {
	return router.ProbeOptions{Every: probeEvery, All: true}
}

// probesOfRun are those of a run, which has none unless it lasts.
func probesOfRun() router.ProbeOptions {
	return router.ProbeOptions{Every: probeEvery, After: probeEvery}
}
