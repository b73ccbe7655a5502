package e2e_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestRestartWith1000 shows what a provider asks that starts with a thousand settled Objects and a new one.
func TestRestartWith1000(t *testing.T) {
	c, _ := clients(t)
	p := start(t)
	f := newFleet(t, c, 1001)
	added := f.objects[1000]
	f.objects = f.objects[:1000]
	f.settle(t, c)
	p.Kill()
	m := mark(t)
	start(t)
	kube.Create(t, c, added)
	awaitReady(t, c, added)
	awaitSilence(t)

	want := map[string]int{"update providerconfigs.kubernetes.crossplane.io/status": 1} // one user more
	if diff := cmp.Diff(want, without(m.onLocal(t).Writes(), added).Count()); diff != "" {
		t.Errorf("writes to the control plane beside those for the new Object: -want, +got:\n%s", diff)
	}
	want = map[string]int{"patch configmaps": 1} // the new one
	if diff := cmp.Diff(want, m.onTarget(t).Writes().Count()); diff != "" {
		t.Errorf("writes to the target, dry runs included: -want, +got:\n%s", diff)
	}
	for server, asked := range map[string]struct {
		requests kube.Requests
		most     int
	}{
		"control plane": {
			requests: append(that(m.onLocal(t), "list"), local.Audit(t).Watches(m.local).By(user)...),
			most:     1,
		},
		// Tenants and operators share no connection, whatever credentials they have.
		"target": {
			requests: append(m.onTarget(t), target.Audit(t).Watches(m.target).By(user)...),
			most:     len(build.Scopes()),
		},
	} {
		got := asked.requests.Count()
		maps.DeleteFunc(got, func(what string, n int) bool { return n <= asked.most || what == "patch configmaps" })
		if len(got) > 0 {
			t.Errorf("requests to the %s: want each list, watch and discovery at most %d times, got %v", server,
				asked.most, got)
		}
	}
}

// without leaves out requests about an Object: about itself, the record of use of its ProviderConfig, and its events.
func without(r kube.Requests, o build.Object) kube.Requests {
	return r.That(func(e audit.AuditEvent) bool {
		return e.Name != o.GetName() && e.Name != string(o.GetUID()) && !strings.HasPrefix(e.Name, o.GetName()+".")
	})
}
