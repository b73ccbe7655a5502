package restore_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A switchboard is an address that leads to one server or another, as that of a load balancer. It refuses no connection,
// and cuts what is under way when it is switched.
type switchboard struct {
	mu  sync.Mutex
	to  http.Handler
	cut chan struct{} // closed when it is switched
}

// away is no server.
var away = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
})

// lead has the address lead to a server.
func (s *switchboard) lead(to http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut != nil {
		close(s.cut)
	}
	s.to, s.cut = to, make(chan struct{})
}

// ServeHTTP passes a request on.
func (s *switchboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	to, cut := s.to, s.cut
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	to.ServeHTTP(w, r.WithContext(ctx))
}

// line returns what passes requests on to the server of a configuration, as its user.
func line(t *testing.T, cfg *rest.Config) (to http.Handler) {
	t.Helper()
	kube.Front(t, cfg, func(server http.Handler) http.Handler {
		to = server
		return server
	})
	return to
}

// connectThrough makes a ProviderConfig for a switchboard, and returns its name.
func connectThrough(t *testing.T, c client.Client, s *switchboard) string {
	t.Helper()
	name := local.Namespace(t)
	front := kube.Front(t, target.Config(), func(http.Handler) http.Handler { return s })
	kube.Create(t, c, build.Credentials(name, "credentials", kube.Kubeconfig(t, front)),
		build.Cluster().Config("", name, build.FromSecret(name, "credentials")))
	return name
}

// observe makes an Object that observes a ConfigMap.
func observe(t *testing.T, c client.Client, config, namespace, name string) build.Object {
	t.Helper()
	o := build.Cluster().Object("", config+"-"+name, config, build.ConfigMap(namespace, name))
	o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	kube.Create(t, c, o)
	return o
}

// awaitSeen waits until an Object has seen a ConfigMap of a color.
func awaitSeen(t *testing.T, c client.Client, o build.Object, color string) {
	t.Helper()
	kube.Await(t, c, o, "the Object to see "+color, func() (bool, string) {
		seen := string(o.Observed().Manifest.Raw)
		return strings.Contains(seen, color), seen
	})
}

// TestTargetReplaced shows that another cluster behind the same address gets what is to be there, and is looked after,
// although its resource versions are higher and no connection was refused: also through credentials that may not read
// which cluster it is.
func TestTargetReplaced(t *testing.T) {
	var other kube.Server
	kube.StartServer(t, &other)
	for name, user := range map[string]func(*testing.T, *kube.Server, string) *rest.Config{
		"Known": func(t *testing.T, s *kube.Server, _ string) *rest.Config {
			t.Helper()
			return s.User(t, "provider", "system:masters")
		},
		"Unknown": func(t *testing.T, s *kube.Server, namespace string) *rest.Config {
			t.Helper()
			role, binding := build.RightsIn(namespace, "tenant", build.User("tenant"), "*")
			kube.Create(t, s.Client(t), role, binding)
			return s.User(t, "tenant")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, tns := provide(t), target.Namespace(t)
			kube.Create(t, other.Client(t), &corev1.Namespace{ObjectMeta: build.Meta("", tns)})
			board := &switchboard{}
			board.lead(line(t, user(t, &target, tns)))
			config := connectThrough(t, c, board)
			keep(t, c, config, tns, "kept")
			for s, color := range map[*kube.Server]string{&target: "blue", &other: "red"} {
				seen := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "seen"), Data: map[string]string{"color": color}}
				kube.Create(t, s.Client(t), seen)
			}
			observer := observe(t, c, config, tns, "seen")
			awaitSeen(t, c, observer, "blue")
			goAhead(t, &other, tns)
			board.lead(line(t, user(t, &other, tns)))
			awaitColorOn(t, &other, tns, "kept", "blue")
			awaitSeen(t, c, observer, "red")
			kube.Patch(t, other.Client(t), &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "kept")}, `{"data":{"color":"red"}}`)
			awaitColorOn(t, &other, tns, "kept", "blue")
		})
	}
}

// TestTargetRestoredToEqualVersion shows that what a restore of a target has undone is done again where the resource has
// got the same resource version once more, with another content.
func TestTargetRestoredToEqualVersion(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	tns, board, server := target.Namespace(t), &switchboard{}, line(t, target.Config())
	board.lead(server)
	config := connectThrough(t, c, board)
	keep(t, c, config, tns, "kept")
	target.Backup(t)
	goAhead(t, &target, tns)
	paint(t, c, config, "kept", "green")
	awaitColor(t, tns, "kept", "green")
	kept := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "kept")}
	kube.Get(t, tc, client.ObjectKeyFromObject(kept), kept)
	want := version(t, kept)
	kube.Eventually(t, "the same resource version to be given out once more", func() (bool, string) {
		board.lead(away)
		target.Restore(t)
		for beat := int64(0); beat < want-1; {
			cm := &corev1.ConfigMap{ObjectMeta: build.Meta(tns, "")}
			cm.SetGenerateName("beat-")
			kube.Create(t, tc, cm)
			beat = version(t, cm)
		}
		kube.Patch(t, tc, kept, `{"data":{"color":"red"}}`)
		return version(t, kept) == want, kept.GetResourceVersion()
	})
	board.lead(server)
	awaitColor(t, tns, "kept", "green")
}

func version(t *testing.T, o client.Object) int64 {
	t.Helper()
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
