package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestKilledInTheMiddleOf500Creates(t *testing.T) {
	const n, atKill = 500, 100
	c, tc := clients(t)
	p := start(t)
	f := newFleet(t, c, n)

	m := mark(t)
	created := make(chan error, 1)
	go func() { created <- f.create(t.Context(), c) }()
	kube.Eventually(t, fmt.Sprintf("the first %d ConfigMaps", atKill), func() (bool, string) {
		got := len(that(m.onTarget(t), "patch"))
		return got >= atKill, strconv.Itoa(got)
	})
	p.Kill()
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	before := f.configMaps(t, tc)
	if len(before) >= n {
		t.Fatalf("the provider was killed too late: all %d ConfigMaps exist", len(before))
	}

	start(t)
	f.awaitReady(t, c)
	awaitSilence(t)

	after := f.configMaps(t, tc)
	if len(after) != n {
		t.Errorf("ConfigMaps: want %d, got %d", n, len(after))
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("ConfigMap %q: want UID %s as before the kill, got %q", name, uid, after[name])
		}
	}
	asked := writes(m.onTarget(t))
	if diff := cmp.Diff([]string{"patch configmaps"}, slices.Sorted(maps.Keys(asked.Count()))); diff != "" {
		t.Errorf("what was written to the target: -want, +got:\n%s", diff)
	}
	// The server answers 201 to a write that creates; to one whose client was killed meanwhile it has nothing to
	// answer.
	if creations := perName(answered(asked, http.StatusCreated)); slices.Max(values(creations)) > 1 {
		t.Errorf("creations of each ConfigMap: want at most 1, got %v", creations)
	}
	// One before the kill, and one after it by who cannot know of the first.
	if times := values(perName(asked)); slices.Max(times) > 2 {
		t.Errorf("writes of each ConfigMap: want at most 2, got %v", times)
	}
}

// answered returns the requests that were answered with a status code.
func answered(r kube.Requests, code int) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if e.Code == code {
			out = append(out, e)
		}
	}
	return out
}
