package redis

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// Finding is a setting of the server by which threads may be lost.
type Finding struct {
	Setting string // its name in redis.conf, or INFO when nothing could be looked at
	Value   string // what it is
	Risk    string // what may be lost and what to set instead
	Refuse  bool   // no worker should keep threads there
}

// Unsafe looks at the settings of the server, of every master of a cluster. Where
// the user may not see them, that is the finding.
func (s *Store) Unsafe(ctx context.Context) ([]Finding, error) {
	var texts []string
	err := s.try(ctx, "look at the server's settings", func(ctx context.Context, _ int) (err error) {
		texts, err = s.info(ctx)
		return err
	})
	if refusal := replyText(err); strings.HasPrefix(refusal, "NOPERM") || strings.HasPrefix(refusal, "ERR unknown") {
		return []Finding{{Setting: "INFO", Value: "not permitted",
			Risk: "whether memory can run over or a restart loses threads is unknown: let the user call INFO, " +
				"or see that maxmemory-policy is noeviction and appendonly is yes"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, text := range texts {
		for _, f := range judgeSettings(text) {
			if !slices.Contains(findings, f) {
				findings = append(findings, f)
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Setting, b.Setting), strings.Compare(a.Value, b.Value))
	})
	return findings, nil
}

// info returns what INFO says, of every master.
func (s *Store) info(ctx context.Context) ([]string, error) {
	cluster, ok := s.client.(*goredis.ClusterClient)
	if !ok {
		text, err := s.client.Info(ctx, "everything").Result()
		return []string{text}, err
	}
	var mu sync.Mutex
	var texts []string
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { // at once
		text, err := c.Info(ctx, "everything").Result()
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, text)
		return err
	})
	return texts, err
}

func judgeSettings(info string) []Finding {
	values := infoFields(info)
	var findings []Finding
	if policy := values["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		findings = append(findings, Finding{Setting: "maxmemory-policy", Value: policy, Refuse: true,
			Risk: "when memory is full Redis deletes threads that are under way: set it to noeviction"})
	}
	if values["aof_enabled"] == "0" {
		findings = append(findings, Finding{Setting: "appendonly", Value: "no",
			Risk: "a restart loses everything since the last snapshot, or all of it, so hops may be made again: " +
				"set it to yes, and appendfsync to always where no second may be lost"})
	}
	// The number of good replicas is told only where a number of them is asked for.
	if _, asked := values["min_slaves_good_slaves"]; !asked && values["role"] == "master" && values["connected_slaves"] > "0" {
		findings = append(findings, Finding{Setting: "min-replicas-to-write", Value: "0",
			Risk: "a master that is cut off goes on granting leases and taking intents that its successor never learns of, " +
				"so hops may be made twice: set it to 1, and min-replicas-max-lag to 1"})
	}
	return findings
}

// infoFields reads the "name:value" lines of INFO.
func infoFields(info string) map[string]string {
	fields := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// warn logs the findings.
func (s *Store) warn(ctx context.Context) error {
	findings, err := s.Unsafe(ctx)
	for _, f := range findings {
		s.o.Log.WarnContext(ctx, "Redis may lose threads", "address", s.address, "setting", f.Setting, "value", f.Value, "risk", f.Risk)
	}
	return err
}
