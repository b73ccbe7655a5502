package hostile_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// leaksShown is how many leaks of a kind a failure shows.
const leaksShown = 10

// showsNothingForeign checks that nothing a hostile server has invented is where anybody but that server could read it,
// and that nothing has followed a redirect.
func (w world) showsNothingForeign(t *testing.T, r *record, sink *hostile.Sink) {
	t.Helper()
	report := func(where string, leaks []string) {
		for _, leak := range leaks[:min(len(leaks), leaksShown)] {
			t.Errorf("%s shows what a hostile server says (%d times): %s", where, len(leaks), leak)
		}
	}
	report("a condition", r.leaked())
	var events corev1.EventList
	var configs mpcv1alpha1.ProviderConfigList
	kube.List(t, w.c, &events)
	kube.List(t, w.c, &configs)
	var told, shown []string
	for _, e := range events.Items {
		told = append(told, canaries(e.Message)...)
	}
	for _, pc := range configs.Items {
		b, err := json.Marshal(pc.Status)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, canaries(string(b))...)
	}
	report("an event", told)
	report("a ProviderConfig", shown)
	report("the log", canaries(w.process.Log()))
	report("a metric", canaries(w.metrics(t)))
	report("the destination of a redirect", sink.Requests())
}

// metrics returns all that the provider measures.
func (w world) metrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.process.Metrics(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// canaries returns the lines of a text that hold a canary.
func canaries(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "canary") {
			found = append(found, around(line))
		}
	}
	return found
}
