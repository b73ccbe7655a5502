package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// kubectl is the manager of what people apply.
const kubectl = "kubectl-client-side-apply"

// A bed is where Objects and their resources are.
type bed struct {
	config    string // the ProviderConfigs, and the namespace of the control plane
	namespace string // of the target
}

// A shape is what Objects look like that a takeover finds.
type shape struct {
	// manifest of the resource of an Object. The default is a ConfigMap.
	manifest func(namespace, name string) build.Manifest
	// with changes an Object of the default shape.
	with func(o build.Object, at bed)
	// before says what somebody else makes of the resource first, if anybody does.
	before func(namespace, name string) *corev1.ConfigMap
	// policies of the Object, all if nil.
	policies xpv2.ManagementPolicies
	// orphans says that the resource stays by deletionPolicy, or by policies where there is none.
	orphans bool
	// word is managementPolicy of an Object of version v1alpha1, which there is in the cluster scope only.
	word commonv1.ManagementPolicy
}

// applies reports whether an Object of the shape changes its resource.
func (s shape) applies() bool {
	if s.word != "" {
		return s.word == commonv1.ManagementPolicyDefault || s.word == commonv1.ManagementPolicyObserveCreateUpdate
	}
	return s.policies == nil || slices.Contains(s.policies, xpv2.ManagementActionUpdate)
}

// previews reports whether an Object of the shape asks the target what an apply would change, which takes one dry run.
func (s shape) previews() bool {
	if s.word != "" {
		return !s.applies()
	}
	return slices.Contains(s.policies, xpv2.ManagementActionObserve) && !s.applies() &&
		!slices.Contains(s.policies, xpv2.ManagementActionCreate)
}

// owns reports whether an Object of the shape may create and change its resource.
func (s shape) owns() bool {
	return s.applies() && (s.policies == nil || slices.Contains(s.policies, xpv2.ManagementActionCreate))
}

// deletes reports whether the resource goes with an Object of the shape.
func (s shape) deletes() bool {
	if s.word != "" {
		return s.word == commonv1.ManagementPolicyDefault || s.word == commonv1.ManagementPolicyObserveDelete
	}
	return !s.orphans && (s.policies == nil || slices.Contains(s.policies, xpv2.ManagementActionDelete))
}

func configMap(namespace, name string) build.Manifest {
	return build.ConfigMap(namespace, name, "color", "blue", "shape", "round")
}

// foreign returns a ConfigMap that is there before its Object, applied by kubectl.
func foreign(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"theirs": "yes"}},
		Data:       map[string]string{"theirs": "yes"},
	}
}

// annotated returns it with what kubectl leaves.
func annotated(namespace, name string) *corev1.ConfigMap {
	cm := foreign(namespace, name)
	cm.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"apiVersion":"v1","kind":"ConfigMap","data":{"theirs":"yes"}}`,
	}
	return cm
}

func shapes() map[string]shape {
	observe, create := xpv2.ManagementActionObserve, xpv2.ManagementActionCreate
	update, remove := xpv2.ManagementActionUpdate, xpv2.ManagementActionDelete
	return map[string]shape{
		"plain":      {},
		"secret":     {manifest: manifestOf("secret.yaml")},
		"service":    {manifest: manifestOf("service.yaml")},
		"deployment": {manifest: manifestOf("deployment.yaml")},
		// To delete these two would need a controller on the target.
		"namespace": {manifest: manifestOf("namespace.yaml"), policies: xpv2.ManagementPolicies{observe, create, update}},
		"foreground": {policies: xpv2.ManagementPolicies{observe, create, update}, with: func(o build.Object, _ bed) {
			o.Desired().ForProvider.DeletionPropagationPolicy = metav1.DeletePropagationForeground
		}},
		"watch":          {with: func(o build.Object, _ bed) { o.Desired().Watch = true }},
		"orphan":         {with: orphan, orphans: true},
		"adopted":        {before: foreign},
		"adopted-of-cli": {before: annotated},
		"observe":        {before: foreign, policies: xpv2.ManagementPolicies{observe}},
		"observe-delete": {before: foreign, policies: xpv2.ManagementPolicies{observe, remove}},
		"never-delete":   {policies: xpv2.ManagementPolicies{observe, create, update}},
		"update":         {before: foreign, policies: xpv2.ManagementPolicies{observe, update}},
		"create-delete":  {policies: xpv2.ManagementPolicies{observe, create, remove}},
		"create":         {policies: xpv2.ManagementPolicies{observe, create}},
		"no-late-init":   {policies: xpv2.ManagementPolicies{observe, create, update, remove}},
		"depends":        {with: depends},
		"patched":        {with: patched},
		"chained":        {with: chained},
		"details":        {with: detailed},
		"secret-details": {manifest: manifestOf("secret.yaml"), with: secretDetailed},
		"cel":            {with: queried("object.data.color == 'blue'")},
		"word-default":   {word: commonv1.ManagementPolicyDefault},
		"word-keep":      {word: commonv1.ManagementPolicyObserveCreateUpdate},
		"word-delete":    {word: commonv1.ManagementPolicyObserveDelete, before: foreign},
		"word-observe":   {word: commonv1.ManagementPolicyObserve, before: foreign},
	}
}

func orphan(o build.Object, _ bed) {
	if o, ok := o.(*objectv1alpha2.Object); ok {
		o.Spec.DeletionPolicy = xpv2.DeletionOrphan
		return
	}
	o.SetManagementPolicies(xpv2.ManagementPolicies{
		xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
		xpv2.ManagementActionLateInitialize,
	})
}

// manifestOf returns what makes the manifest of a file.
func manifestOf(file string) func(namespace, name string) build.Manifest {
	return func(namespace, name string) build.Manifest {
		m := build.Manifest{}
		content, err := os.ReadFile(filepath.Join("testdata", file))
		if err == nil {
			named := strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(string(content))
			err = yaml.Unmarshal([]byte(named), &m)
		}
		if err != nil {
			panic(err) // It is a file of ours.
		}
		return m
	}
}

// A subject is an Object that is taken over. Its resource has its name.
type subject struct {
	build.Object

	shape shape
	// byServer and byClient say how the peer has applied it: by server-side apply, client-side, or first the one and
	// then the other.
	byServer, byClient bool
}

// newSubject returns an Object of a shape and a scope.
func newSubject(sc build.Scope, s shape, at bed, name string) *subject {
	manifest := configMap
	if s.manifest != nil {
		manifest = s.manifest
	}
	o := &subject{shape: s, Object: sc.Object(at.config, name, at.config, manifest(at.namespace, name))}
	if s.policies != nil {
		o.SetManagementPolicies(s.policies)
	}
	if s.with != nil {
		s.with(o.Object, at)
	}
	return o
}

// create creates the Object unless it exists, and before it what others have made of its resource.
func (s *subject) create(ctx context.Context, c, tc client.Client, namespace string) error {
	if s.GetUID() != "" {
		return nil
	}
	if s.shape.before != nil {
		cm := s.shape.before(namespace, s.GetName())
		if err := client.IgnoreAlreadyExists(tc.Create(ctx, cm, client.FieldOwner(kubectl))); err != nil {
			return err
		}
	}
	if s.shape.word == "" {
		return client.IgnoreAlreadyExists(c.Create(ctx, s.Object))
	}
	old, err := s.inOldVersion()
	if err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(c.Create(ctx, old))
}

// inOldVersion returns the Object as a user of version v1alpha1 writes it.
func (s *subject) inOldVersion() (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.Object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion("kubernetes.crossplane.io/v1alpha1")
	u.SetKind(commonv1.ObjectKind)
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "spec", "readiness")
	return u, unstructured.SetNestedField(content, string(s.shape.word), "spec", "managementPolicy")
}

// resource returns the resource of the Object, as it is on the target.
func (s *subject) resource(ctx context.Context, tc client.Client) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(s.Desired().ForProvider.Manifest.Raw); err != nil {
		return nil, err
	}
	return u, tc.Get(ctx, client.ObjectKeyFromObject(u), u)
}

// subjects returns Objects of every shape in every scope it exists in, one of each applied in every way.
func subjects(at bed) []*subject {
	var all []*subject
	for round, how := range []struct{ byServer, byClient bool }{
		{true, false}, {false, true}, {true, true},
	} {
		for _, o := range oneOfEach(shapes(), at, round) {
			o.byServer, o.byClient = how.byServer, how.byClient
			all = append(all, o)
		}
	}
	return all
}

// oneOfEach returns an Object of every shape in every scope it exists in. Those of one round and scope refer to each
// other.
func oneOfEach(shapes map[string]shape, at bed, round int) []*subject {
	var all []*subject
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, sc := range build.Scopes() {
			if s := shapes[name]; s.word == "" || sc.Name == build.Cluster().Name {
				all = append(all, newSubject(sc, s, at, fmt.Sprintf("%s-%d-%s", name, round, strings.ToLower(sc.Name))))
			}
		}
	}
	return all
}
