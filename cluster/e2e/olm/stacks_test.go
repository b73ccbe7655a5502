package olm

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	testguide "github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// capabilities is the folder of the stacks that users are shown.
var capabilities = filepath.Join("..", "..", "..", "examples", "capabilities")

// A form is how a stack is asked for.
type form struct {
	file string // of the example
	// resource is the kind of a capability, as kubectl takes it.
	resource func(capability string) string
	group    string
	objects  schema.GroupVersionKind // of the Objects it is made of
}

var (
	claims = form{
		file: "claim.yaml", resource: func(c string) string { return c + "claim" },
		group:   "capabilities.morningspace.io",
		objects: schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: "ObjectList"},
	}
	composites = form{
		file: "composite.yaml", resource: func(c string) string { return c + "s.capabilities.m.morningspace.io" },
		group:   "capabilities.m.morningspace.io",
		objects: schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "ObjectList"},
	}
)

// A bundle is a capability, of a backend, that is installed and uninstalled some times in a row.
type bundle struct {
	capability, backend string
	objects             int // it is made of
	rounds              int // or more, if E2E_ROUNDS says so
}

// atLeast returns how often each stack is installed and uninstalled at least.
func atLeast(t *testing.T) int {
	t.Helper()
	return kube.Setting(t, "E2E_ROUNDS", 1)
}

// plains are the stacks without a backend.
func plains(rounds int) []bundle {
	return []bundle{
		{capability: "networking", backend: "plain", objects: 3, rounds: rounds},
		{capability: "logging", backend: "plain", objects: 5, rounds: rounds},
		{capability: "all", backend: "plain", objects: 8, rounds: rounds},
	}
}

// olms are the stacks by OLM, which each take the time that OLM needs to come to rest.
func olms(networking, logging, all int) []bundle {
	return []bundle{
		{capability: "networking", backend: "olm", objects: 3, rounds: networking},
		{capability: "logging", backend: "olm", objects: 4, rounds: logging},
		{capability: "all", backend: "olm", objects: 7, rounds: all},
	}
}

// TestStacks shows that what Crossplane composes of a claim, or of a composite resource in a namespace, gets ready, and
// leaves nothing.
func TestStacks(t *testing.T) {
	s := newSite(t)
	crossplane.Start(t, local.StartCrossplane, s.server.Config())
	host := crossplane.StartRegistry(t)
	crossplane.RunFunctions(t, s.c, host)
	for _, of := range []string{"claims", "namespaced"} {
		crossplane.InstallConfiguration(t, s.c, host, filepath.Join(capabilities, "configurations", of))
	}
	s.run(t)
	t.Run("Chain", s.chain)
	t.Run("Guide", s.followsCapabilities)
	t.Run("Claims", func(t *testing.T) { s.rounds(t, claims, append(plains(2), olms(9, 4, 4)...)) })
	t.Run("Namespaced", func(t *testing.T) { s.rounds(t, composites, append(plains(2), olms(4, 2, 2)...)) })
	t.Run("Two", s.two)
}

// chain installs and uninstalls the Objects of each example without Crossplane.
func (s *site) chain(t *testing.T) {
	for name, f := range map[string]form{"cluster.yaml": claims, "namespaced.yaml": composites} {
		t.Run(name, func(t *testing.T) {
			s.takeInventories(t)
			s.Run(t, "kubectl apply -f examples/olm/"+name)
			kube.Eventually(t, "the Objects to be Ready", func() (bool, string) {
				s.listObjects(t, f)
				for _, o := range s.objects {
					if status, _ := s.condition(t, o, xpv2.TypeReady); status != string(corev1.ConditionTrue) {
						return false, s.state(t)
					}
				}
				return true, ""
			})
			s.awaitRest(t)
			s.Run(t, "kubectl delete --wait=false -f examples/olm/"+name) // The first of the chain first.
			s.awaitEmpty(t, bundle{capability: "networking", backend: "olm"})
		})
	}
}

// A site is a control plane where stacks are asked for.
type site struct {
	bed
	testguide.Shell // beside the examples
}

// newSite starts a control plane that serves our kinds and has what Objects of stacks need: whatever Crossplane leaves
// there goes with it.
func newSite(t *testing.T) *site {
	t.Helper()
	server := &kube.Server{ControllerManager: true}
	kube.StartServer(t, server)
	s := &site{
		bed:   bed{server: server, c: serve(t, server), tc: target.Client(t)},
		Shell: testguide.NewShell(t, server.Config(), filepath.Join(top, "examples")),
	}
	connect(t, s.c)
	return s
}

// run runs the provider, the operators and the pods of the target.
func (s *site) run(t *testing.T) {
	t.Helper()
	runOperator(t)
	kube.RunScheduler(t, target.User(t, "scheduler", admins), nodeName)
	start(t, s.server)
}

// rounds installs and uninstalls stacks, each as often as it says.
func (s *site) rounds(t *testing.T, f form, stacks []bundle) {
	for _, x := range stacks {
		t.Run(x.capability+"/"+x.backend, func(t *testing.T) {
			for i := range max(x.rounds, atLeast(t)) {
				if !t.Run(strconv.Itoa(i+1), func(t *testing.T) { s.once(t, f, x) }) {
					return
				}
			}
		})
		if t.Failed() { // What is left would fail the rounds to come, too.
			return
		}
	}
}

// once installs and uninstalls a stack.
func (s *site) once(t *testing.T, f form, x bundle) {
	s.takeInventories(t)
	s.ask(t, f, x, x.example())
	s.awaitSettled(t, f, x)
	s.Run(t, "kubectl delete "+f.resource(x.capability)+" "+x.example())
	s.awaitEmpty(t, x)
}

// example returns the name of the stack in its example.
func (x bundle) example() string { return "my-" + x.capability + "-stack" }

// awaitSettled waits until the stack of the example is ready, and at rest.
func (s *site) awaitSettled(t *testing.T, f form, x bundle) {
	t.Helper()
	s.awaitStack(t, f, x, x.example())
	if s.listObjects(t, f); len(s.objects) != x.objects {
		t.Errorf("want %d Objects, got %s", x.objects, s.state(t))
	}
	if x.backend == "olm" {
		s.awaitRest(t)
	}
}

// awaitEmpty waits until nothing is left of stacks, and fails the test unless it went in order.
func (s *site) awaitEmpty(t *testing.T, x bundle) {
	t.Helper()
	s.awaitObjectsGone(t) // The garbage collector deletes them, and may not know their kind yet.
	s.awaitNothing(t)
	for _, chain := range orders[x.capability+"/"+x.backend] {
		s.assertOrder(t, chain)
	}
}

// ask asks for a stack by its example: as it is, unless it is to have another backend or name.
func (s *site) ask(t *testing.T, f form, x bundle, name string) {
	t.Helper()
	change := strings.NewReplacer("provider: olm", "provider: "+x.backend, "name: "+x.example(), "name: "+name)
	asked := change.Replace(text(t, filepath.Join(capabilities, x.capability, f.file)))
	s.Run(t, "kubectl apply -f - <<'END'\n"+asked+"END\n")
}

// awaitStack waits until a stack says that it is ready, and its Objects do, too.
func (s *site) awaitStack(t *testing.T, f form, x bundle, name string) {
	t.Helper()
	kind := strings.ToUpper(x.capability[:1]) + x.capability[1:]
	if f.file == claims.file {
		kind += "Claim"
	}
	u := build.Resource(f.group+"/v1alpha1", kind, kongsNamespace, name)
	kube.EventuallyBy(t, 2*soon, name+" to be ready", func() (bool, string) {
		s.listObjects(t, f)
		for _, o := range append([]*unstructured.Unstructured{u}, s.objects...) {
			for _, c := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced} {
				status, why := s.condition(t, o, c)
				if status != string(corev1.ConditionTrue) {
					return false, o.GetName() + " " + string(c) + ": " + why + s.state(t)
				}
			}
		}
		return len(s.objects) > 0, "no Objects"
	})
}

// listObjects lists the Objects there are.
func (s *site) listObjects(t *testing.T, f form) {
	t.Helper()
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(f.objects)
	kube.List(t, s.c, l)
	s.objects = nil
	for i := range l.Items {
		s.objects = append(s.objects, &l.Items[i])
	}
}

// two shows that two stacks of one capability share the operator, which stays with the second when the first one goes.
func (s *site) two(t *testing.T) {
	f := claims
	x := bundle{capability: "networking", backend: "olm"}
	s.takeInventories(t)
	for _, name := range []string{"one", "two"} {
		s.ask(t, f, x, name)
	}
	for _, name := range []string{"one", "two"} {
		s.awaitStack(t, f, x, name)
	}
	s.awaitRest(t)
	s.Run(t, "kubectl delete "+f.resource(x.capability)+" one")
	kube.Eventually(t, "one Kong to go", func() (bool, string) {
		s.listObjects(t, f)
		return len(s.objects) == 3, s.state(t)
	})
	s.awaitStack(t, f, x, "two")
	for _, l := range kongChain[1:] {
		if len(s.deletions(t, l)) > 0 {
			t.Errorf("%s %q is deleted though a stack needs it", l.resource, l.part)
		}
	}
	s.listObjects(t, f)
	s.Run(t, "kubectl delete "+f.resource(x.capability)+" two")
	s.awaitEmpty(t, x)
}

// capabilitiesGuide is the guide of the stacks.
var capabilitiesGuide = filepath.Join(top, "examples", "README.md")

// followsCapabilities tries a stack as the guide says, line by line. First it makes the ProviderConfigs that the
// examples of stacks name, by the commands of the guide.
func (s *site) followsCapabilities(t *testing.T) {
	s.Write(t, "remote.kubeconfig", kube.Kubeconfig(t, asUser(t, &target)))
	blocks := testguide.Commands(t, capabilitiesGuide, "## Capabilities: install, try, remove")
	if len(blocks) != 6 {
		t.Fatalf("want 6 blocks of commands, got %d", len(blocks))
	}
	connect, try, remove := blocks[2], blocks[3], blocks[4]
	s.Run(t, connect)
	x := olms(1, 0, 0)[0]
	s.takeInventories(t)
	s.Run(t, try)
	s.awaitSettled(t, claims, x)
	s.Run(t, remove)
	s.awaitEmpty(t, x)
}
