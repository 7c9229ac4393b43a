// Package cause says why a run failed, or why it does not go on, from what the store
// keeps: the thread, its call records and checkpoints, and how the servers fared in
// the ten minutes before. It decides nothing, and asks no server: its words are for
// people, so it may read messages, which no retry does.
package cause
