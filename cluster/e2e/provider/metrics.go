package provider

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// guides are what tells users of metrics, below the top of the tree.
var guides = []string{
	"examples/monitoring/dashboard.json", "examples/monitoring/alerts.yaml", "docs/reference/metrics.md",
}

// NamedMetrics returns the metrics that users are told of whose names begin with one of some words, sorted. Each guide
// names one at least.
func NamedMetrics(top string, words ...string) ([]string, error) {
	metric := regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)_[a-z_]+\b`)
	var all []string
	for _, f := range guides {
		b, err := os.ReadFile(filepath.Join(top, f)) //nolint:gosec // It is one of ours.
		if err != nil {
			return nil, errors.Wrap(err, "cannot read what tells of metrics")
		}
		found := metric.FindAllString(string(b), -1)
		if len(found) == 0 {
			return nil, errors.Errorf("%s names no metric of %v", f, words)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Series returns the value of each series that the provider serves, by name and labels.
func (p *Process) Series(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Metrics(), nil)
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask for metrics")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask for metrics")
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read metrics")
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		if at := strings.LastIndex(line, " "); at > 0 && !strings.HasPrefix(line, "#") {
			all[line[:at]], _ = strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		}
	}
	return all, nil
}

// MissingMetrics returns which of some metrics the provider does not serve. Of a histogram it is the count that tells.
func (p *Process) MissingMetrics(ctx context.Context, wanted []string) ([]string, error) {
	all, err := p.Series(ctx)
	served := map[string]bool{}
	for series := range all {
		name, _, _ := strings.Cut(series, "{")
		served[name] = true
	}
	missing := slices.DeleteFunc(slices.Clone(wanted), func(m string) bool { return served[m] || served[m+"_count"] })
	return missing, err
}
