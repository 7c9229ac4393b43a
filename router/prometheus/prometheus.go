// Package prometheus reads servers' error rates from a Prometheus server that
// scrapes the workers: what all of them saw, also before this one was started.
//
//	rates, err := prometheus.New("http://127.0.0.1:9090", nil)
//	r := router.New(discovery, caller, &router.Options{Rates: rates})
//
// It asks one query for all servers over Prometheus' HTTP API, of attempts that
// failed by the server's fault against all that say something of it, over the last
// five minutes as the linear score has it. Servers of the workers alone count: a
// server that counts its own calls under the same names says nothing of them.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Query is the question, whose answer is a vector with the label server_name.
const Query = `(` + failed + ` or 0 * ` + calls + `) / (` + calls + ` > 0)`

const (
	failed = `sum by (server_name) (rate(mcp_server_error_total{error_code=~"MCP_OUTPUT_INVALID|MCP_SERVER_ERROR|MCP_SERVER_OVERLOAD|MCP_TIMEOUT|MCP_TRANSPORT"}[5m]))`
	calls  = `sum by (server_name) (rate(mcp_server_calls_total{status=~"success|error|timeout"}[5m]) and on (job, instance) junction_build_info)`
)

const (
	mostBytes   = 4 << 20 // of an answer
	mostServers = 10000
)

// Options are for tests and for servers that want more than a request.
type Options struct {
	Client *http.Client // nil: one that follows no redirect and keeps no connection
	Query  string       // "": Query
}

// Source asks one server.
type Source struct {
	address string // of the API's query
	shown   string // for people
	client  *http.Client
}

// New returns a source at a base URL, http or https, without a credential.
func New(base string, o *Options) (*Source, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the address of Prometheus is not http://HOST:PORT, without a credential")
	}
	s := &Source{shown: u.Host}
	query := Query
	if o != nil {
		s.client = o.Client
		if o.Query != "" {
			query = o.Query
		}
	}
	if s.client == nil {
		// One request in 15 s keeps no connection.
		s.client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/api/v1/query"
	u.RawQuery = url.Values{"query": {query}}.Encode()
	s.address = u.String()
	return s, nil
}

// String names the source.
func (s *Source) String() string { return "Prometheus at " + s.shown }

// answer is that of the HTTP API to an instant query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric struct {
				Server string `json:"server_name"`
			} `json:"metric"`
			Value [2]any `json:"value"` // seconds, and the number as text
		} `json:"result"`
	} `json:"data"`
}

// ErrorRates returns the error rates, [0, 1], of the servers that had calls, by id.
func (s *Source) ErrorRates(ctx context.Context) (map[string]float64, error) {
	rates, err := s.ask(ctx)
	if err != nil {
		return nil, fmt.Errorf("error rates from %s: %w", s, err)
	}
	return rates, nil
}

func (s *Source) ask(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // without the query, which tells nobody anything
		}
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > mostBytes:
		return nil, fmt.Errorf("the answer is larger than %d bytes", mostBytes)
	}
	var a answer
	err = json.Unmarshal(body, &a)
	switch {
	case response.StatusCode != http.StatusOK && (err != nil || a.Error == ""):
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	case a.Status != "success":
		return nil, fmt.Errorf("HTTP status %d: %.200q", response.StatusCode, a.Error)
	case a.Data.ResultType != "vector":
		return nil, fmt.Errorf("the answer is a %.20q, not a vector", a.Data.ResultType)
	case len(a.Data.Result) > mostServers:
		return nil, fmt.Errorf("%d servers: %d at most", len(a.Data.Result), mostServers)
	}
	rates := make(map[string]float64, len(a.Data.Result))
	for _, r := range a.Data.Result {
		text, ok := r.Value[1].(string)
		rate, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("the rate of server %.100q is no number", r.Metric.Server)
		}
		if r.Metric.Server != "" && !math.IsNaN(rate) {
			rates[r.Metric.Server] = min(max(rate, 0), 1)
		}
	}
	return rates, nil
}
