package e2e_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestRestartWith1000(t *testing.T) {
	c, _ := clients(t)
	p := start(t)
	f := newFleet(t, c, 1003)
	more := f.objects[1000:]
	f.objects = f.objects[:1000]
	f.settle(t, c)
	restart := func() time.Duration {
		added := more[0]
		more = more[1:]
		p.Kill()
		begin := time.Now()
		p = start(t)
		kube.Create(t, c, added)
		awaitReady(t, c, added)
		return time.Since(begin)
	}

	added, m := more[0], mark(t)
	first := restart()
	awaitSilence(t)

	want := map[string]int{"update providerconfigs.kubernetes.crossplane.io/status": 1} // one user more
	if diff := cmp.Diff(want, without(writes(m.onLocal(t)), added).Count()); diff != "" {
		t.Errorf("writes to the control plane beside those for the new Object: -want, +got:\n%s", diff)
	}
	want = map[string]int{"patch configmaps": 1} // the new one
	if diff := cmp.Diff(want, writes(m.onTarget(t)).Count()); diff != "" {
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
	// The benchmark holds it to two seconds, on a machine with nothing else to do.
	again := false
	kube.Figure(t, "start to a new Object that is Ready", func() time.Duration {
		if again {
			return restart()
		}
		again = true
		return first
	})
}

// without leaves out requests about an Object: about itself, the record of use of its ProviderConfig, and its events.
func without(r kube.Requests, o build.Object) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if e.Name != o.GetName() && e.Name != string(o.GetUID()) && !strings.HasPrefix(e.Name, o.GetName()+".") {
			out = append(out, e)
		}
	}
	return out
}
