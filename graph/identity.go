package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// identity hashes parts, each with its length, so that ("ab","c") and
// ("a","bc") differ.
func identity(parts ...string) string {
	var room [256]byte
	b := room[:0]
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	var text [32]byte
	hex.Encode(text[:], sum[:16])
	return string(text[:])
}

// taskID is the same in every process that plans the task.
func taskID(thread, lineage string, seq int64, node string, index int) string {
	return identity("task", thread, lineage, strconv.FormatInt(seq, 10), node, strconv.Itoa(index))
}

// pauseID identifies a static interrupt: when is "before" or "after". It
// belongs to the node, not to each of its tasks.
func pauseID(thread, lineage string, seq int64, node, when string) string {
	return identity("pause", thread, lineage, strconv.FormatInt(seq, 10), node, when)
}

// questionID identifies a dynamic interrupt by its order in the task, or by
// name.
func questionID(task, name string, ordinal int) string {
	if name != "" {
		return identity("question", task, "name", name)
	}
	return identity("question", task, "order", strconv.Itoa(ordinal))
}

// writeID identifies one commit of one holder of the lease.
func writeID(thread, lineage string, parent, token int64) string {
	return identity("commit", thread, lineage, strconv.FormatInt(parent, 10), strconv.FormatInt(token, 10))
}
