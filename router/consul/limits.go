package consul

import "time"

// How much is asked of Consul at once, and how patiently.
const (
	// watchesAtOnce is how many services are waited on at the same time. An agent
	// takes 200 connections from one address unless told otherwise, and several
	// workers may share that address.
	watchesAtOnce = 64
	// looksAtOnce is how many are asked besides for an answer at once.
	looksAtOnce = 32
	// waitLong is how long a question waits for a change where every service has
	// its place; waitTurn where they take turns.
	waitLong = time.Minute
	waitTurn = 500 * time.Millisecond
	// waitDoubted is how long until an answer that is not believed is asked for again.
	waitDoubted = 2 * time.Second
	// catalogueCap bounds the time between two tries to read the catalogue of a
	// Consul that fails, serviceCap that of one service. The catalogue's return
	// wakes the services.
	backoffFirst = 100 * time.Millisecond
	catalogueCap = 2 * time.Second
	serviceCap   = 10 * time.Second
	// unsettled is how long after an index went back nothing is taken for gone: a
	// catalogue that was restored fills again as agents and servers notice.
	unsettled = 5 * time.Minute
	// burst answers in a row are taken as they come, then one each pace: something
	// that never waits must not keep a core busy.
	burst = 8
	pace  = 200 * time.Millisecond
	// looksReads is how many reads a second all fresh looks may take, once a burst
	// of looks is over; no look waits for longer than lookCap because of it.
	looksReads = 1000
	lookCap    = 2 * time.Second
	// maxServers is how many instances are shown; those that registered first are.
	// Each is connected to, whatever it offers.
	maxServers = 4096
	// publishEvery is the least time between two snapshots.
	publishEvery = 20 * time.Millisecond
	// maxAnswer bounds what is read of one answer.
	maxAnswer = 256 << 20 // bytes
)
