package schema_test

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads the file as docker compose does: against its schema, with merges
// and variables resolved.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv(env), cli.WithResolvedPaths(true), cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeStartsTheWhole(t *testing.T) {
	t.Parallel()
	p := compose(t)
	want := []string{"consul", "grafana", "prometheus", "redis", "review-js-v2", "review-python-v1", "review-python-v2", "worker-1", "worker-2"}
	if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for name, s := range p.Services {
		if s.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("%s is not started again", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to other machines: %+v", name, port)
			}
		}
		for dependency, d := range s.DependsOn {
			if d.Condition == types.ServiceConditionHealthy && p.Services[dependency].HealthCheck == nil {
				t.Errorf("%s waits for the health of %s, which nobody looks at", name, dependency)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && (!v.ReadOnly || !exists(v.Source)) {
				t.Errorf("%s mounts %s: there and read only?", name, v.Source)
			}
		}
	}
}

// An image has a version and stands on the default registry.
func TestImagesArePinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^([a-z]+/)?[a-z]+:v?[0-9]+\.[0-9]+\.[0-9]+(-alpine)?$`)
	for name, s := range compose(t, "JUNCTION_VERSION=1.2.3").Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s runs %q", name, s.Image)
		}
	}
}

func TestOurContainersMayDoLittle(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).Services {
		if s.Build == nil {
			continue
		}
		if s.User != "65532:65532" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.MemLimit == 0 {
			t.Errorf("%s: user %q, read only %v, without %v, %v, memory %d", name, s.User, s.ReadOnly, s.CapDrop, s.SecurityOpt, s.MemLimit)
		}
		// What it was given to end must be over before it is killed.
		grace := 10 * time.Second
		if i := slices.Index(s.Command, "--grace"); i >= 0 {
			var err error
			if grace, err = time.ParseDuration(s.Command[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= grace {
			t.Errorf("%s is killed after %v, within its grace of %v", name, s.StopGracePeriod, grace)
		}
	}
}

func TestAPasswordReachesRedisAndItsWorkers(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	p := compose(t, "JUNCTION_REDIS_PASSWORD="+secret)
	for name, s := range p.Services {
		command := strings.Join(s.Command, " ")
		worker, store := strings.HasPrefix(name, "worker-"), name == "redis"
		password := ""
		if v := s.Environment["JUNCTION_REDIS_PASSWORD"]; v != nil {
			password = *v
		}
		if worker != (password == secret) || store != strings.Contains(command, secret) {
			t.Errorf("%s: password %q, command %s", name, password, command)
		}
	}
}

// Servers advertise the name and port that they are reached by.
func TestServersAreWhereTheySay(t *testing.T) {
	t.Parallel()
	flag := func(s types.ServiceConfig, name string) string {
		if i := slices.Index(s.Command, name); i >= 0 && i+1 < len(s.Command) {
			return s.Command[i+1]
		}
		return ""
	}
	versions, languages, n := map[string]bool{}, map[string]bool{}, 0
	for name, s := range compose(t).Services {
		if len(s.Command) == 0 || s.Command[0] != "example-server" {
			continue
		}
		n++
		versions[flag(s, "--declare-version")], languages[flag(s, "--reviewer")] = true, true
		if flag(s, "--service") != name || flag(s, "--name") != name || flag(s, "--advertise") != name+":8080" || flag(s, "--http") != "0.0.0.0:8080" {
			t.Errorf("%s: %v", name, s.Command)
		}
	}
	if n != 3 || len(versions) != 2 || len(languages) != 2 {
		t.Errorf("%d servers, versions %v, languages %v", n, versions, languages)
	}
}
