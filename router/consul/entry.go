package consul

import (
	"cmp"
	"maps"
	"slices"
)

// entry is what is read of one instance in Consul's answer about its health. The
// rest of the answer, two thirds of it, is passed over.
type entry struct {
	Node struct {
		Node    string
		Address string
	}
	Service struct {
		Kind    string // "" but for proxies and gateways
		Service string // the service's name
		ID      string
		Tags    []string
		Meta    map[string]string
		Address string
		Port    int
		Weights struct{ Passing, Warning int }
		// CreateIndex is lower the longer the instance has been registered without
		// a break, in every worker's eyes alike.
		CreateIndex uint64
	}
	Checks []struct{ Status string } // the service's and its node's
}

// identity tells instances apart: a service's id is one of its node.
type identity struct{ id, node string }

func (e *entry) identity() identity { return identity{e.Service.ID, e.Node.Node} }

// byIdentity is the order in which answers are compared.
func byIdentity(a, b identity) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.node, b.node))
}

// bySeniority orders instances so that of several with one id the first keeps it:
// who registers later must not get what is meant for who was there.
func bySeniority(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.Service.ID, b.Service.ID), byAge(a, b))
}

// byAge puts the instance that registered first in front.
func byAge(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.Service.CreateIndex, b.Service.CreateIndex), byIdentity(a.identity(), b.identity()))
}

// weight is the instance's share: 0 while a check is critical, the node's checks
// and maintenance among them.
func (e *entry) weight() int {
	w := e.Service.Weights
	if w.Passing == 0 && w.Warning == 0 {
		w.Passing, w.Warning = 1, 1 // an old agent does not tell them
	}
	weight := w.Passing
	for _, c := range e.Checks {
		switch c.Status {
		case "passing":
		case "warning":
			weight = w.Warning
		default:
			return 0 // critical, and what a later Consul may call worse
		}
	}
	return max(weight, 0)
}

// address is where the instance is: its own address, else its node's.
func (e *entry) address() string { return cmp.Or(e.Service.Address, e.Node.Address) }

// same reports whether nothing changed that a server is made of.
func (e *entry) same(o *entry) bool {
	a, b := &e.Service, &o.Service
	return e.identity() == o.identity() && a.Kind == b.Kind && e.address() == o.address() && a.Port == b.Port &&
		e.weight() == o.weight() && slices.Equal(a.Tags, b.Tags) && maps.Equal(a.Meta, b.Meta)
}
