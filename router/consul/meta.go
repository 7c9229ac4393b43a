package consul

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"junction/router"
	"junction/state"
)

// What Consul takes of a service.
const (
	maxMetaPairs = 64
	maxMetaKey   = 128 // bytes
	maxMetaValue = 512 // bytes
)

var (
	metaKeyRule  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	serviceRule  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`) // also a DNS label, as Consul wants it
	instanceRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$`)
)

// claims writes what a service offers the way discovery reads it: as tags and
// Meta. Attributes are tags, and of all offers alike: a service whose offers
// differ in them is two services.
func claims(tag string, s Service) (tags []string, meta map[string]string, err error) {
	e := encoder{service: s.Name, meta: map[string]string{}}
	e.set(MetaScheme, s.Scheme)
	e.set(MetaPath, s.Path)
	e.set(MetaDepth, s.Depth)
	e.set("version", s.Version)
	if s.LatencyP95 > 0 {
		e.set(MetaLatencyP95, strconv.FormatInt(max(1, s.LatencyP95.Milliseconds()), 10))
	}
	if s.MaxConcurrent > 0 {
		e.set(MetaConcurrent, strconv.Itoa(s.MaxConcurrent))
	}
	tags = []string{tag}
	for _, o := range s.Offers {
		e.offer(s.Offers, o)
		tags = append(tags, o.Capability)
	}
	if all := strings.Join(tags[1:], ","); len(all) <= maxMetaValue {
		e.set(MetaCapabilities, all)
	} // else the tags say it: one that is no attribute names a capability
	tags = append(tags, e.attributes(s.Offers)...)
	if len(e.meta) > maxMetaPairs {
		e.fault("%d Meta entries, and Consul takes %d: offer fewer capabilities in one service", len(e.meta), maxMetaPairs)
	}
	return tags, e.meta, e.err
}

// encoder keeps the first fault.
type encoder struct {
	service string
	meta    map[string]string
	err     error
}

func (e *encoder) fault(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("service %s: %s", e.service, fmt.Sprintf(format, args...))
	}
}

// set writes an entry; "" is none.
func (e *encoder) set(key, value string) {
	switch {
	case value == "":
		return
	case !metaKeyRule.MatchString(key):
		e.fault("%q cannot be a Meta key: letters, digits, '_' and '-' can", key)
	case len(key) > maxMetaKey:
		e.fault("the Meta key %s has %d bytes, and Consul takes %d", key, len(key), maxMetaKey)
	case len(value) > maxMetaValue:
		e.fault("Meta %s has %d bytes, and Consul takes %d", key, len(value), maxMetaValue)
	case strings.ContainsFunc(value, unicode.IsControl):
		e.fault("Meta %s holds a control character: %q", key, value)
	}
	e.meta[key] = value
}

// offer writes what belongs to one capability.
func (e *encoder) offer(all []router.Offer, o router.Offer) {
	capability := o.Capability
	same := func(p router.Offer) bool { return p.Capability == capability }
	switch {
	case !metaKeyRule.MatchString(capability):
		e.fault("the capability %q cannot be told: its name goes into Meta keys, which take letters, digits, '_' and '-'", capability)
		return
	case slices.IndexFunc(all, same) != lastIndex(all, same):
		e.fault("the capability %s is offered twice: register a service for each", capability)
	case o.With != nil || o.Result != nil || o.Probe != nil:
		e.fault("the offer of %s has a mapping or a probe, which the operator says and Consul cannot", capability)
	}
	e.set(MetaTool+"-"+capability, o.Tool)
	switch o.Effect {
	case "", state.Unsafe: // as what is unsaid
	case state.Safe:
		e.set(MetaEffect+"-"+capability, string(o.Effect))
	case state.Conditional:
		if o.Key == "" {
			e.fault("the offer of %s is conditional and has no key: name the argument that carries it, or _meta.NAME", capability)
		}
		e.set(MetaEffect+"-"+capability, string(o.Effect))
		e.set(MetaKey+"-"+capability, o.Key)
		e.set(MetaLedger+"-"+capability, o.Ledger.Name)
		if o.Ledger.Keeps > 0 {
			e.set(MetaKeeps+"-"+capability, duration(o.Ledger.Keeps))
		}
	default:
		e.fault("the offer of %s has the effect %q: it can be safe, conditional or unsafe", capability, o.Effect)
	}
}

func lastIndex(all []router.Offer, f func(router.Offer) bool) int {
	for i := len(all) - 1; i >= 0; i-- {
		if f(all[i]) {
			return i
		}
	}
	return -1
}

// attributes are the tags that all offers share.
func (e *encoder) attributes(offers []router.Offer) []string {
	first := offers[0].Attributes
	for _, o := range offers[1:] {
		if !maps.EqualFunc(first, o.Attributes, slices.Equal) {
			e.fault("%s and %s have different attributes: register a service for each", offers[0].Capability, o.Capability)
			return nil
		}
	}
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if !metaKeyRule.MatchString(name) || strings.HasPrefix(name, reserved) {
			e.fault("%q cannot name an attribute: letters, digits, '_' and '-' can, not beginning with %s", name, reserved)
		}
		for _, value := range first[name] {
			if value == "" || strings.ContainsRune(value, ',') || strings.ContainsFunc(value, unicode.IsControl) {
				e.fault("the attribute %s has the value %q: it cannot be empty or hold commas or control characters", name, value)
			}
			tags = append(tags, name+attributeSign+value)
		}
	}
	return tags
}

// duration writes whole hours as 720h, as people do, and not as 720h0m0s.
func duration(d time.Duration) string {
	if d%time.Hour == 0 {
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return d.String()
}
