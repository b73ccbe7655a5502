package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// transitions are the states that the conditions of PublishedResources have had, one after the other.
type transitions struct {
	mu  sync.Mutex
	all map[string]map[xpv2.ConditionType][]string
}

// watchTransitions records the transitions of all PublishedResources of a shop from now on.
func (s *shop) watchTransitions(t *testing.T) *transitions {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(local.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), &v1alpha1.PublishedResourceList{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	out := &transitions{all: map[string]map[xpv2.ConditionType][]string{}}
	go func() {
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*v1alpha1.PublishedResource); ok && strings.HasPrefix(o.GetName(), s.config) &&
				o.GetDeletionTimestamp() == nil {
				out.add(o)
			}
		}
	}()
	return out
}

func (r *transitions) add(o *v1alpha1.PublishedResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.all[o.GetName()]
	if of == nil {
		of = map[xpv2.ConditionType][]string{}
		r.all[o.GetName()] = of
	}
	for _, c := range o.Status.Conditions {
		is := fmt.Sprintf("%s %s", c.Status, c.Reason)
		if all := of[c.Type]; len(all) == 0 || all[len(all)-1] != is {
			of[c.Type] = append(all, is)
		}
	}
}

// conditionsOf are the conditions of a PublishedResource.
var conditionsOf = []xpv2.ConditionType{
	xpv2.TypeReady, xpv2.TypeSynced, v1alpha1.TypeSchemaPublished, v1alpha1.TypeExportUpdated, v1alpha1.TypeEndpointsReady,
	v1alpha1.TypeClaimsAccepted,
}

// turnsTrueOnce reports whether states end with True, and whether that is so from the first of them that is.
func turnsTrueOnce(states []string) bool {
	first := slices.IndexFunc(states, isTrue)
	return first >= 0 && !slices.ContainsFunc(states[first:], func(s string) bool { return !isTrue(s) })
}

func isTrue(state string) bool { return strings.HasPrefix(state, string(corev1.ConditionTrue)) }

// warnings returns all Warnings about a PublishedResource.
func (s *shop) warnings(t *testing.T, o *v1alpha1.PublishedResource) []string {
	t.Helper()
	list := &corev1.EventList{}
	kube.List(t, s.c, list)
	var out []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == o.GetName() && e.Type == corev1.EventTypeWarning {
			out = append(out, fmt.Sprintf("%s x%d: %s", e.Reason, e.Count, e.Message))
		}
	}
	return out
}

// TestNormalPublication makes ten publications. The first finds no consumer yet, and the others find two. It shows that
// each condition turns True once and stays so, and that no publication has a Warning.
func TestNormalPublication(t *testing.T) {
	t.Parallel()
	const publications = 10
	s := openShop(t)
	seen := s.watchTransitions(t)
	all := make([]*v1alpha1.PublishedResource, publications)
	for i := range all {
		plural := string(rune('a'+i)) + "hats"
		kube.Create(t, s.c, definition(s.group, plural, "keyName"))
		o := s.published(plural, kindOf(plural))
		o.Spec.StateNamespace = local.Namespace(t)
		o.Spec.Related = []v1alpha1.RelatedResource{{
			Identifier: "key", Origin: v1alpha1.OriginKCP, Kind: "Secret", Object: byField("spec.keyName"),
		}}
		kube.Create(t, s.c, o)
		if i == 0 {
			awaitPublished(t, s.c, o)
			s.consumer(t)
			s.consumer(t)
		}
		await(t, s.c, o, is(v1alpha1.TypeEndpointsReady, ""), is(v1alpha1.TypeClaimsAccepted, ""),
			is(xpv2.TypeReady, ""), is(xpv2.TypeSynced, ""))
		all[i] = o
	}
	kube.Throughout(t, 2*time.Second, "no condition changes, and there is no Warning", func() (bool, string) {
		var wrong []string
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for _, o := range all {
			for _, kind := range conditionsOf {
				if states := seen.all[o.GetName()][kind]; !turnsTrueOnce(states) {
					wrong = append(wrong, fmt.Sprintf("%s %s: %s", o.GetName(), kind, strings.Join(states, ", ")))
				}
			}
			for _, w := range s.warnings(t, o) {
				wrong = append(wrong, o.GetName()+" "+w)
			}
		}
		slices.Sort(wrong)
		return len(wrong) == 0, strings.Join(wrong, "\n")
	})
}

// TestLastingProblem shows that it is told, once it has lasted for a while, that a workspace which binds an API cannot
// use it: here as it has a CustomResourceDefinition of that name.
func TestLastingProblem(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	o := s.publishHats(t)
	_, cfg := workspaces.Workspace(t)
	kube.Create(t, kcp.Client(t, cfg), definition(s.group, "hats"))
	kcp.Bind(t, cfg, s.path, exportName, claims()...)
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeClaimsAccepted, v1alpha1.ReasonPending), "cannot use the API")
	s.awaitReported(t, o, "ClaimsAcceptedPending", "cannot use the API")
}
