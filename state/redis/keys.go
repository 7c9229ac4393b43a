package redis

import "strings"

// DefaultPrefix begins every key unless the address says otherwise.
const DefaultPrefix = "junction"

// escapeID keeps a thread's id from ending the hash tag it stands in.
var escapeID = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// keyLetters end the keys of one thread, in the order that every script of a
// thread takes them.
const keyLetters = "tclvurbs"

// threadKeys are the keys of one thread, in the order of keyLetters.
func (s *Store) threadKeys(id string) []string {
	t := s.prefix + ":{" + escapeID.Replace(id) + "}:"
	size := len(t) + 1
	all := make([]byte, 0, len(keyLetters)*size)
	for i := range len(keyLetters) {
		all = append(append(all, t...), keyLetters[i])
	}
	joined, keys := string(all), make([]string, len(keyLetters))
	for i := range keys {
		keys[i] = joined[i*size : (i+1)*size]
	}
	return keys
}

// Places in threadKeys.
const (
	keyThread = iota
	keyHeads
	keyLogs
	keyValues
	keyUnderway
	keyRecords
	keyBlobs
	keySessions
)

func (s *Store) indexKey() string { return s.prefix + ":threads" }
func (s *Store) dueKey() string   { return s.prefix + ":{queue}:due" }
func (s *Store) bellKey() string  { return s.prefix + ":{queue}:bell" }
func (s *Store) begunKey() string { return s.prefix + ":{queue}:begun" }
func (s *Store) queueKeys() []string {
	return []string{s.dueKey(), s.bellKey(), s.begunKey()}
}
func (s *Store) aliveKey() string      { return s.prefix + ":{fleet}:alive" }
func (s *Store) sharesKey() string     { return s.prefix + ":{fleet}:shares" }
func (s *Store) cancelChannel() string { return s.prefix + ":cancel" }
