package takeover_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// What api-syncagent writes. It is spelled out here, as it must not follow our own constants.
const (
	exportName  = "shop.example.com"
	agentName   = exportName + "-syncagent"
	finalizer   = "syncagent.kcp.io/cleanup"
	domain      = "syncagent.kcp.io/"
	annotations = "related-resources.syncagent.kcp.io/"
)

// publishedResource is one that api-syncagent has served. Only stateNamespace is new: it was a flag.
const publishedResource = `
apiVersion: syncagent.kcp.io/v1alpha1
kind: PublishedResource
metadata:
  name: publish-certs
spec:
  stateNamespace: %[2]s
  resource:
    kind: Cert
    apiGroup: %[1]s
    version: v1
  naming:
    namespace: "$remoteClusterName"
    name: "cert-$remoteNamespaceHash-$remoteNameHash"
  mutation:
    spec:
    - template:
        path: spec.secretName
        template: "{{ .Value }}-issued"
  related:
  - identifier: tls
    origin: service
    kind: Secret
    cleanup: true
    object:
      reference:
        path: spec.secretName
  - identifier: settings
    origin: kcp
    kind: ConfigMap
    object:
      reference:
        path: spec.settingsName
`

// An agent is api-syncagent: it leaves what that leaves.
type agent struct {
	c     client.Client // of the service cluster
	group string
	state string       // its namespace
	path  string       // of the workspace with the APIExport
	admin *rest.Config // of that workspace
}

// publish publishes Certs, and claims what the PublishedResource needs, in the version of the API that the agent has
// written.
func (a *agent) publish(t *testing.T) {
	t.Helper()
	d := build.Definition(a.group, "certs", "secretName", "settingsName", "defaulted")
	kube.Create(t, a.c, d)
	spec := &v1alpha1.PublishedResourceSpec{Resource: v1alpha1.SourceResource{
		APIGroup: a.group, Kind: "Cert", Version: "v1",
	}}
	projected, err := projection.Project(d, spec)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := projected.Schema(agentName)
	if err != nil {
		t.Fatal(err)
	}
	e := &apisv1alpha1.APIExport{ObjectMeta: metav1.ObjectMeta{
		Name: exportName, Annotations: map[string]string{domain + "agent-name": agentName},
	}}
	e.Spec.LatestResourceSchemas = []string{schema.GetName()}
	for _, r := range []string{"configmaps", "events", "namespaces", "secrets"} {
		e.Spec.PermissionClaims = append(e.Spec.PermissionClaims,
			apisv1alpha1.PermissionClaim{GroupResource: apisv1alpha1.GroupResource{Resource: r}, All: true})
	}
	kube.Create(t, kcp.Client(t, a.admin), schema, e)
}

// hash returns what the agent hashes texts to, and keyOf what it hashes structures to.
func hash(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func keyOf(cluster, namespace, name string) string {
	return hash(fmt.Sprintf(`{"ClusterName":%q,"WorkspacePath":"","Namespace":%q,"Name":%q}`+"\n", cluster, namespace,
		name))
}

// A cert is an object of a consumer, and all there is of it.
type cert struct {
	in              tenant
	namespace, name string
	// copied is the name of the copy.
	copied string
}

func (o cert) settingsName() string { return o.name + "-settings" }

func (o cert) above(group string) *unstructured.Unstructured {
	u := object(group+"/v1", "Cert", o.namespace, o.name)
	u.Object["spec"] = map[string]any{"size": "L", "secretName": o.name, "settingsName": o.settingsName()}
	u.SetLabels(map[string]string{"app": o.name})
	u.SetAnnotations(map[string]string{"note": "mine", "crossplane.io/external-name": "theirs"})
	return u
}

// below returns the copy, with a field that a webhook has set, and with metadata of the consumer that would not be
// copied by us.
func (o cert) below(group string) *unstructured.Unstructured {
	u := object(group+"/v1", "Cert", o.in.cluster, o.copied)
	u.Object["spec"] = map[string]any{
		"size": "L", "secretName": o.name + "-issued", "settingsName": o.settingsName(), "defaulted": "by a webhook",
	}
	l := o.identity()
	l["app"], l[domain+"agent-name"] = o.name, agentName
	u.SetLabels(l)
	u.SetAnnotations(map[string]string{
		"note": "mine", "crossplane.io/external-name": "theirs",
		domain + "remote-object-name": o.name, domain + "remote-object-namespace": o.namespace,
	})
	return u
}

func (o cert) identity() map[string]string {
	return map[string]string{
		domain + "remote-object-cluster":        o.in.cluster,
		domain + "remote-object-namespace-hash": hash(o.namespace),
		domain + "remote-object-name-hash":      hash(o.name),
	}
}

// secret returns what an operator has issued, or the copy of it.
func (o cert) secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"issued-for": o.name},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			"tls.crt": []byte("certificate of " + o.name), "tls.key": []byte("key of " + o.name),
		},
	}
}

// settings returns what a consumer has made, or the copy of it.
func (o cert) settings(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.settingsName()},
		Data:       map[string]string{"for": o.name},
	}
}

// snapshot returns an object as the agent remembers it.
func snapshot(t *testing.T, o client.Object) []byte {
	t.Helper()
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(u, "metadata", "creationTimestamp")
	b, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stateOf returns the Secret by which the agent remembers an object and its related objects.
func (a *agent) stateOf(t *testing.T, o cert) *corev1.Secret {
	t.Helper()
	mutated := o.above(a.group)
	mutated.Object["spec"].(map[string]any)["secretName"] = o.name + "-issued"
	secret, settings := o.secret(o.in.cluster, o.name+"-issued"), o.settings(o.namespace)
	secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	settings.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	l := o.identity()
	l[domain+"object-state"] = "true"
	id := fmt.Sprintf(`{"apiVersion":%q,"kind":"Cert","name":%q,"namespace":%q}`+"\n", a.group+"/v1", o.name,
		o.namespace)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.state, Name: "obj-state-" + o.in.cluster + "-" + hash(id)[:20], Labels: l,
		},
		Data: map[string][]byte{
			keyOf(o.in.cluster, o.namespace, o.name):           snapshot(t, mutated),
			keyOf("", o.in.cluster, o.name+"-issued"):          snapshot(t, secret),
			keyOf(o.in.cluster, o.namespace, o.settingsName()): snapshot(t, settings),
		},
	}
}

// sync leaves an object with all that belongs to it, in step.
func (a *agent) sync(t *testing.T, o cert) {
	t.Helper()
	above, below, held := o.above(a.group), o.below(a.group), o.settings(o.namespace)
	above.SetFinalizers([]string{finalizer})
	held.Finalizers = []string{finalizer}
	kube.Create(t, o.in, above, held, o.secret(o.namespace, o.name))
	kube.Create(t, a.c, below, o.settings(o.in.cluster), o.secret(o.in.cluster, o.name+"-issued"), a.stateOf(t, o))
	note := fmt.Sprintf(`{"namespace":%q,"name":%q,"apiVersion":"v1","kind":"Secret"}`, o.namespace, o.name)
	kube.Patch(t, o.in, above, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotations+"tls.0", note))
	for c, u := range map[client.Client]*unstructured.Unstructured{o.in: above, a.c: below} {
		kube.PatchStatus(t, c, u, `{"status":{"phase":"Issued"}}`)
	}
}
