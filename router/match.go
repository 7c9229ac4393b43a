package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// attributesOf adds what is declared for the server as a whole.
func attributesOf(s *Server, o *Offer, name string) []string {
	if values, ok := o.Attributes[name]; ok {
		return values
	}
	for _, key := range slices.Sorted(maps.Keys(o.Attributes)) {
		if strings.EqualFold(key, name) {
			return o.Attributes[key]
		}
	}
	if s.Depth != "" && strings.EqualFold(name, "review_depth") {
		return []string{s.Depth}
	}
	return nil
}

// meets reports whether one of the values an attribute has is one of those
// wanted. Names and values compare without case.
func meets(s *Server, o *Offer, name string, wanted any) bool {
	for _, want := range words(wanted) {
		for _, has := range attributesOf(s, o, name) {
			if strings.EqualFold(want, has) {
				return true
			}
		}
	}
	return false
}

// words are the values that a need names: one, or any of a list.
func words(v any) []string {
	switch v := v.(type) {
	case []any:
		all := make([]string, 0, len(v))
		for _, x := range v {
			all = append(all, words(x)...)
		}
		return all
	case []string:
		return v
	case nil:
		return nil
	}
	return []string{fmt.Sprint(v)}
}

// unmet returns the first need, by name, that an offer does not meet, for
// people; "" when it meets all.
func unmet(s *Server, o *Offer, need map[string]any) string {
	if len(need) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if meets(s, o, name, need[name]) {
			continue
		}
		wanted := strings.Join(words(need[name]), " or ")
		if wanted == "" {
			wanted = "(nothing: the value is empty)"
		}
		has := attributesOf(s, o, name)
		if len(has) == 0 {
			return fmt.Sprintf("needs %s %s; it declares no %s", name, wanted, name)
		}
		return fmt.Sprintf("needs %s %s; it has %s", name, wanted, some(has))
	}
	return ""
}

// preference is the share of the preferences that an offer meets, 1 for none.
func preference(s *Server, o *Offer, prefer map[string]any) float64 {
	if len(prefer) == 0 {
		return 1
	}
	met := 0
	for name, wanted := range prefer {
		if meets(s, o, name, wanted) {
			met++
		}
	}
	return float64(met) / float64(len(prefer))
}
