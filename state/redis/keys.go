package redis

import "strings"

// DefaultPrefix begins every key unless the address says otherwise.
const DefaultPrefix = "junction"

// escapeID keeps a thread's id from ending the hash tag it stands in.
var escapeID = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// threadKeys are the keys of one thread, in the order that every script of a
// thread takes them.
func (s *Store) threadKeys(id string) []string {
	t := s.prefix + ":{" + escapeID.Replace(id) + "}:"
	return []string{t + "t", t + "c", t + "l", t + "v", t + "u", t + "r", t + "b", t + "s"}
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
func (s *Store) queueKeys() []string {
	return []string{s.prefix + ":{queue}:due", s.prefix + ":{queue}:bell"}
}
func (s *Store) cancelChannel() string { return s.prefix + ":cancel" }
