package bridge

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNamesGetTheirServersOnlyWhereTheyCollide(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 120)
	for name, c := range map[string]struct {
		all  []owned
		want map[string]owned
	}{
		"none":       {nil, map[string]owned{}},
		"all differ": {[]owned{{"a", "x"}, {"b", "y"}}, map[string]owned{"x": {"a", "x"}, "y": {"b", "y"}}},
		"two alike": {
			[]owned{{"a", "x"}, {"a", "y"}, {"b", "x"}},
			map[string]owned{"a__x": {"a", "x"}, "y": {"a", "y"}, "b__x": {"b", "x"}},
		},
		"one looks like a made one": {
			[]owned{{"a", "x"}, {"b", "x"}, {"c", "a__x"}},
			map[string]owned{"a__x": {"a", "x"}, "b__x": {"b", "x"}, "c__a__x": {"c", "a__x"}},
		},
		"odd characters": {
			[]owned{{"s:1/2", "x"}, {"s:1/3", "x"}},
			map[string]owned{"s_1_2__x": {"s:1/2", "x"}, "s_1_3__x": {"s:1/3", "x"}},
		},
		"made ones that are alike": {
			[]owned{{"s:1", "x"}, {"s/1", "x"}},
			map[string]owned{"s_1__x": {"s/1", "x"}, marked(owned{"s:1", "x"}): {"s:1", "x"}},
		},
		"too long": {
			[]owned{{"server-a", long}, {"server-b", long}},
			map[string]owned{marked(owned{"server-a", long}): {"server-a", long}, marked(owned{"server-b", long}): {"server-b", long}},
		},
	} {
		if diff := cmp.Diff(c.want, named(sorted(c.all)), cmp.AllowUnexported(owned{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNamesAreEachsOwnWhateverTheOrder(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[ab_:]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) owned { return owned{part.Draw(t, "server"), part.Draw(t, "name")} }), 0, 12).Draw(t, "all")
		shown := named(sorted(slices.Clone(all)))
		again := named(sorted(rapid.Permutation(all).Draw(t, "order")))
		if !maps.Equal(shown, again) {
			t.Fatalf("%v and %v", shown, again)
		}
		if len(shown) != len(sorted(all)) {
			t.Fatalf("%d names for %v", len(shown), all)
		}
		for name, o := range shown {
			if len(name) > longestName && name != o.name {
				t.Fatalf("%q is too long", name)
			}
		}
	})
}
