package consul

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"junction/router"
	"junction/state"
)

// maxNumber bounds the declared numbers, in calls and in milliseconds.
const maxNumber = 1 << 20

// claim reads what an instance says of itself in tags and Meta. It collects
// every problem, for whoever registered the instance to see.
type claim struct {
	tags     []string
	meta     map[string]string
	mark     string // the tag that stands for MCP
	trust    bool
	problems []string
}

func (c *claim) problem(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// offers are the capabilities that are told well. One that is not is left out:
// to guess at an effect or a ledger could repeat what must not be.
func (c *claim) offers() []router.Offer {
	capabilities, attributes := c.capabilities(), c.attributes()
	c.checkKeys(capabilities)
	var offers []router.Offer
	for _, capability := range capabilities {
		if o, ok := c.offer(capability, len(capabilities) == 1); ok {
			o.Attributes = attributes
			offers = append(offers, o)
		}
	}
	return offers
}

// capabilities are those that Meta lists, else the plain tags, in their order.
func (c *claim) capabilities() []string {
	var all []string
	add := func(name string) {
		switch {
		case name == "" || slices.Contains(all, name):
		case !presentable(name):
			c.problem("the capability %s is longer than %d bytes or holds control characters. It is not offered", legible(name), maxName)
		case len(all) == maxCapabilities:
			c.problem("it has more than %d capabilities. %s is not offered", maxCapabilities, name)
		default:
			all = append(all, name)
		}
	}
	if list, ok := c.meta[MetaCapabilities]; ok {
		for _, name := range listed(list) {
			add(name)
		}
		return all
	}
	for _, tag := range c.tags {
		if tag != c.mark && tag != Mark && !strings.Contains(tag, attributeSign) {
			add(strings.TrimSpace(tag))
		}
	}
	return all
}

// attributes are Meta's entries without a meaning of their own, then the tags
// NAME=VALUE; nil for none.
func (c *claim) attributes() map[string][]string {
	var all map[string][]string
	count := 0
	add := func(name string, values ...string) {
		for _, v := range values {
			switch {
			case name == "" || v == "" || slices.Contains(all[name], v):
				continue
			case !presentable(name) || len(v) > maxMetaValue || strings.ContainsFunc(v, unicode.IsControl):
				c.problem("its attribute %s has a name or a value that is too long or holds control characters. The value does not count", legible(name))
				continue
			case count == maxValues:
				c.problem("it has more than %d values of attributes. %s of %s does not count", maxValues, legible(v), name)
				continue
			}
			if all == nil {
				all = map[string][]string{}
			}
			all[name] = append(all[name], v)
			count++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.meta)) {
		if !strings.HasPrefix(key, reserved) {
			add(key, listed(c.meta[key])...)
		}
	}
	for _, tag := range c.tags {
		if name, v, ok := strings.Cut(tag, attributeSign); ok {
			add(strings.TrimSpace(name), strings.TrimSpace(v))
		}
	}
	return all
}

// completed are the operator's offers with the attributes that the instance tells
// of itself. The operator's word on an attribute replaces the instance's.
func (c *claim) completed(offers []router.Offer) []router.Offer {
	own := c.attributes()
	all := slices.Clone(offers)
	if len(own) == 0 {
		return all
	}
	for i := range all {
		said := all[i].Attributes
		merged := maps.Clone(said)
		for name, values := range own {
			if merged == nil {
				merged = make(map[string][]string, len(own))
			}
			if !named(said, name) {
				merged[name] = values
			}
		}
		all[i].Attributes = merged
	}
	return all
}

// named reports whether there is an attribute of that name, which has no case.
func named(attributes map[string][]string, name string) bool {
	for other := range attributes {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}

// checkKeys reports reserved keys that say nothing, most likely misspelt.
func (c *claim) checkKeys(capabilities []string) {
	whole := []string{MetaScheme, MetaPath, MetaCapabilities, MetaLatencyP95, MetaConcurrent, MetaDepth}
	single := append([]string{MetaTool}, trustedKeys...)
	for _, key := range slices.Sorted(maps.Keys(c.meta)) {
		if !strings.HasPrefix(key, reserved) || slices.Contains(whole, key) || slices.Contains(single, key) {
			continue
		}
		i := slices.IndexFunc(single, func(k string) bool { return strings.HasPrefix(key, k+"-") })
		switch {
		case i < 0:
			c.problem("Meta %s means nothing; keys that begin with %s are %s and %s, the latter also with -CAPABILITY",
				legible(key), reserved, strings.Join(whole, ", "), strings.Join(single, ", "))
		case !slices.Contains(capabilities, key[len(single[i])+1:]):
			c.problem("Meta %s is of a capability that it does not offer; it offers %s", legible(key), orNone(capabilities))
		}
	}
}

// of is what Meta says for a capability: the key with its name, else without.
func (c *claim) of(key, capability string) (value, from string) {
	if v, ok := c.meta[key+"-"+capability]; ok {
		return v, key + "-" + capability
	}
	return c.meta[key], key
}

func (c *claim) offer(capability string, alone bool) (router.Offer, bool) {
	o := router.Offer{Capability: capability}
	var from string
	if o.Tool, from = c.of(MetaTool, capability); o.Tool != "" && from == MetaTool && !alone {
		c.problem("Meta %s does not say of which capability; write %s-%s, and likewise for each. %s is not offered", MetaTool, MetaTool, capability, capability)
		return o, false
	}
	if !c.trust {
		return o, true
	}
	effect, from := c.of(MetaEffect, capability)
	switch o.Effect = state.Effect(effect); o.Effect {
	case "", state.Safe, state.Unsafe:
		return o, true
	case state.Conditional:
		return c.conditional(o)
	}
	c.problem("Meta %s is %q; it can be safe, conditional or unsafe. %s is not offered", from, effect, capability)
	return o, false
}

// conditional reads where the key goes and which ledger knows it.
func (c *claim) conditional(o router.Offer) (router.Offer, bool) {
	var from string
	if o.Key, from = c.of(MetaKey, o.Capability); o.Key == "" || o.Key == "_meta." {
		c.problem("%s is conditional and Meta %s-%s does not say which argument carries the key, or _meta.NAME. It is not offered", o.Capability, from, o.Capability)
		return o, false
	}
	o.Ledger.Name, _ = c.of(MetaLedger, o.Capability)
	keeps, from := c.of(MetaKeeps, o.Capability)
	if keeps == "" {
		return o, true
	}
	d, err := time.ParseDuration(keeps)
	if err != nil || d <= 0 {
		c.problem("Meta %s is %q; say how long the ledger keeps keys, as 24h. %s is not offered", from, keeps, o.Capability)
		return o, false
	}
	o.Ledger.Keeps = d
	return o, true
}

// number reads a declared number: 0 where nothing is said.
func (c *claim) number(key string) (n int, ok bool) {
	text, said := c.meta[key]
	if !said {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxNumber {
		c.problem("Meta %s is %q; a whole number from 1 to %d is expected. The instance is left out", key, text, maxNumber)
		return 0, false
	}
	return n, true
}

// listed takes a list with commas apart.
func listed(text string) []string {
	var all []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			all = append(all, v)
		}
	}
	return all
}

func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	const most = 8
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}
