package provider

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// guides are what tells users of metrics, below the top of the tree.
var guides = []string{"examples/monitoring/dashboard.json", "examples/monitoring/alerts.yaml", "docs/monitoring.md"}

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

// MissingMetrics returns which of some metrics the provider does not serve. Of a histogram the buckets count as the
// metric.
func (p *Process) MissingMetrics(ctx context.Context, wanted []string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Metrics(), nil)
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask for metrics")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot ask for metrics")
	}
	defer func() { _ = res.Body.Close() }()
	served := map[string]bool{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 3 && fields[1] == "TYPE" {
			served[fields[2]] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(wanted),
		func(m string) bool { return served[m] || served[strings.TrimSuffix(m, "_bucket")] })
	return missing, errors.Wrap(lines.Err(), "cannot read metrics")
}
