package graph

import "junction/state"

// fingerprints hashes everything a node is given. What cannot be encoded is
// left out: without a store a channel may hold such a value.
func (t *task) fingerprints(in Input) []string {
	cells := t.at.view.cells
	prints := make([]string, 0, len(cells)+1)
	for i, c := range cells {
		prints = append(prints, fingerprint(&t.run.g.spec.Channels[i], c.value))
	}
	return append(prints, fingerprint(&Channel{Type: t.spec.Item}, in.Item))
}

func fingerprint(ch *Channel, v any) string {
	raw, err := encode(ch.Type, v)
	if err != nil {
		return ""
	}
	return state.Hash(raw)
}

// changed names the channels that differ from what they were.
func (t *task) changed(before []string, in Input) []string {
	var names []string
	for i, now := range t.fingerprints(in) {
		switch {
		case now == before[i]:
		case i < len(t.at.view.cells):
			names = append(names, t.run.g.spec.Channels[i].Name)
		default:
			names = append(names, "item")
		}
	}
	return names
}
