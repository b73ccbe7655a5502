package secretredaction_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// calm is longer than the poll interval of these tests, 5 s.
const calm = 7 * time.Second

// refersTo makes an Object take the password from the Secret of another.
func refersTo(o build.Object, name, namespace string) {
	o.Desired().References = []commonv1.Reference{{
		PatchesFrom: &commonv1.PatchesFrom{
			Name: name, Namespace: namespace, FieldPath: "status.atProvider.manifest.data.password",
		},
		ToFieldPath: new("data.password"),
	}}
}

// setPassword changes a Secret on the target.
func setPassword(t *testing.T, tc client.Client, namespace, name, value string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: build.Meta(namespace, name)}
	patch := `{"stringData":{"password":"` + value + `"}}`
	must(t, tc.Patch(t.Context(), s, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// awaitPassword waits until a Secret on the target has a password.
func awaitPassword(t *testing.T, tc client.Client, key types.NamespacedName, want string) {
	t.Helper()
	s := &corev1.Secret{}
	kube.Eventually(t, "the password of Secret "+key.String(), func() (bool, string) {
		if err := tc.Get(t.Context(), key, s); err != nil {
			return false, err.Error()
		}
		return string(s.Data["password"]) == want, "it is another one"
	})
}

// A pair are an Object that looks at a Secret, which others write, and one that takes the password from it for a Secret
// of its own.
type pair struct {
	source, reader build.Object
	user           string               // as whom the provider reaches the target
	key            types.NamespacedName // of the reader's Secret on the target
}

// newPair makes a pair and waits until it is settled.
func newPair(t *testing.T, c client.Client, s build.Scope) pair {
	t.Helper()
	tc, tns, ns := target.Client(t), target.Namespace(t), local.Namespace(t)
	p := pair{user: "reader-" + tns, key: types.NamespacedName{Namespace: tns, Name: "reader"}}
	p.source = s.Object(ns, tns+"-source", ns, credentials(tns, "source", password))
	p.source.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	p.reader = s.Object(ns, tns+"-reader", ns, build.Manifest{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": tns, "name": "reader"},
	})
	refersTo(p.reader, p.source.GetName(), p.source.GetNamespace())
	must(t, tc.Create(t.Context(),
		&corev1.Secret{ObjectMeta: build.Meta(tns, "source"), Data: map[string][]byte{"password": []byte(password)}}))
	for _, o := range []client.Object{
		kubeconfigOf(t, ns, p.user), s.Config(ns, ns, build.FromSecret(ns, "credentials")), p.reader, p.source,
	} {
		must(t, c.Create(t.Context(), o))
	}
	awaitPassword(t, tc, p.key, password)
	awaitUpToDate(t, c, p.source)
	awaitUpToDate(t, c, p.reader)
	return p
}

// checkFollows checks that the reader has what changes in the Secret of the source promptly.
func (p pair) checkFollows(t *testing.T) {
	t.Helper()
	tc := target.Client(t)
	kube.Figure(t, "a change to reach who refers to it", func() time.Duration {
		began := time.Now()
		for _, value := range []string{later, password} {
			setPassword(t, tc, p.key.Namespace, "source", value)
			awaitPassword(t, tc, p.key, value)
		}
		return time.Since(began)
	})
}

// TestReferenceToWithheldValues shows that an Object takes a value from the Secret of another, whose status does not
// show it, and follows its changes at once, although neither tells anybody; and that it costs no request at rest.
//
// A defect of provider-kubernetes: --sanitize-secrets breaks patches read from status.
func TestReferenceToWithheldValues(t *testing.T) {
	d := provide(t)
	c := d.Client
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			p := newPair(t, c, s)
			p.checkFollows(t)
			awaitUpToDate(t, c, p.reader)
			there := target.Audit(t)
			mark := there.Mark()
			kube.Throughout(t, calm, "no request", func() (bool, string) {
				asked := there.Since(mark).By(p.user)
				return len(asked) == 0, asked.String()
			})
			checkStatus(t, c, p.source)
			checkStatus(t, c, p.reader)
			checkEvents(t, c)
			tellsNothing(t, "log", d.log.String())
			for _, cond := range []xpv2.Condition{
				p.reader.GetCondition(xpv2.TypeSynced), p.reader.GetCondition(xpv2.TypeReady),
			} {
				tellsNothing(t, "condition", cond.Message)
			}
			for _, o := range []build.Object{p.reader, p.source} {
				must(t, c.Delete(t.Context(), o))
			}
		})
	}
}

// TestWithheldValuesStayInNamespace shows that an Object of a namespace gets no value of the Secret of an Object in
// another.
func TestWithheldValuesStayInNamespace(t *testing.T) {
	c := provide(t).Client
	s := build.Namespaced()
	tns, theirs, ours := target.Namespace(t), local.Namespace(t), local.Namespace(t)
	source := s.Object(theirs, "source", theirs, credentials(tns, "source", password))
	reader := s.Object(ours, "reader", ours, credentials(tns, "reader", "nothing"))
	refersTo(reader, "source", theirs)
	for _, ns := range []string{theirs, ours} {
		must(t, c.Create(t.Context(), kubeconfig(t, ns)))
		must(t, c.Create(t.Context(), s.Config(ns, ns, build.FromSecret(ns, "credentials"))))
	}
	must(t, c.Create(t.Context(), source))
	checkStatus(t, c, source)
	must(t, c.Create(t.Context(), reader))
	kube.Eventually(t, "the reference to be refused", func() (bool, string) {
		must(t, c.Get(t.Context(), client.ObjectKeyFromObject(reader), reader))
		synced := reader.GetCondition(xpv2.TypeSynced)
		return synced.Reason == commonv1.ReasonInvalidReference, string(synced.Reason) + " " + synced.Message
	})
}

// awaitUpToDate waits until an Object is synced and ready, and nothing of it is under way.
func awaitUpToDate(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	kube.Eventually(t, o.GetName()+" to be ready", func() (bool, string) {
		must(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		bad := slices.DeleteFunc([]xpv2.Condition{o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)},
			func(cond xpv2.Condition) bool { return cond.Status == corev1.ConditionTrue })
		var said []string
		for _, cond := range bad {
			said = append(said, string(cond.Reason)+" "+cond.Message)
		}
		return len(bad) == 0, strings.Join(said, ", ")
	})
}

// TestWithheldValuesAfterRestart shows that a provider which has just started, and therefore knows no value that no
// status shows, neither writes about that nor applies anything.
func TestWithheldValuesAfterRestart(t *testing.T) {
	d := provide(t)
	pairs := []pair{newPair(t, d, build.Cluster()), newPair(t, d, build.Namespaced())}
	d.stop()
	c := provide(t).Client
	there := target.Audit(t)
	mark := there.Mark()
	for _, p := range pairs {
		kube.Throughout(t, calm, "nothing is written", func() (bool, string) {
			was := p.reader.GetResourceVersion()
			must(t, c.Get(t.Context(), client.ObjectKeyFromObject(p.reader), p.reader))
			asked := there.Since(mark).By(p.user)
			applied := asked.Count()["patch secrets"]
			return p.reader.GetResourceVersion() == was && applied == 0, asked.String()
		})
		p.checkFollows(t)
	}
}
