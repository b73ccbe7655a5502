package object_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// parse returns the resource of a JSON text.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestVersionsKeepEveryField shows that an Object written in one version reads the same in the other, and still does
// when it is then written in that one. provider-kubernetes drops watch, celQuery and deletionPropagationPolicy in
// between.
func TestVersionsKeepEveryField(t *testing.T) {
	c := provide(t)
	const spec = `{
		"deletionPolicy": "Orphan",
		"managementPolicy": "Observe",
		"managementPolicies": ["*"],
		"providerConfigRef": {"name": "none"},
		"writeConnectionSecretToRef": {"name": "s", "namespace": "default"},
		"watch": true,
		"unreachableTarget": "Orphan",
		"sharedResource": "Orphan",
		"readiness": {"policy": "DeriveFromCelQuery", "celQuery": "true"},
		"connectionDetails": [{"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": "d",
			"fieldPath": "data.a", "toConnectionSecretKey": "a"}],
		"references": [
			{"dependsOn": {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": "d", "waitFor": "Healthy",
				"celQuery": "true"}},
			{"patchesFrom": {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": "d",
				"fieldPath": "data.a"}, "toFieldPath": "data.b"}
		],
		"forProvider": {
			"deletionPropagationPolicy": "Foreground", "onImmutableChange": "Recreate",
			"ignoreFields": [{"fieldPath": "data.a", "condition": "OnPresent"}],
			"manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "d"},
				"data": {"a": "b"}}
		}
	}`
	for written, read := range map[string]string{"v1alpha1": "v1alpha2", "v1alpha2": "v1alpha1"} {
		t.Run(written, func(t *testing.T) {
			name, want := local.Namespace(t), parse(t, `{"spec":`+spec+`}`).Object["spec"]
			in := func(version string) *unstructured.Unstructured {
				return parse(t, `{"apiVersion":"kubernetes.crossplane.io/`+version+`","kind":"Object","metadata":{"name":"`+
					name+`"},"spec":`+spec+`}`)
			}
			kube.Create(t, c, in(written))
			kube.Patch(t, c, in(read), `{"metadata":{"labels":{"written":"again"}}}`)
			for _, version := range []string{read, written} {
				got := in(version)
				kube.Get(t, c, client.ObjectKeyFromObject(got), got)
				if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
					t.Errorf("spec written as %s, then as %s, and read as %s: -want, +got:\n%s", written, read, version, diff)
				}
			}
		})
	}
}

// TestCRDs shows what the CRDs promise.
func TestCRDs(t *testing.T) {
	c := provide(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	kube.Get(t, c, types.NamespacedName{Name: "objects.kubernetes.crossplane.io"}, crd)
	if s := crd.Spec.Conversion.Strategy; s != apiextensionsv1.NoneConverter {
		t.Errorf("conversion strategy: want None, got %s", s)
	}
	v1, v2 := crd.Spec.Versions[0], crd.Spec.Versions[1]
	delete(v1.Schema.OpenAPIV3Schema.Properties["spec"].Properties, "providerRef") // It has no effect.
	if diff := cmp.Diff(v1.Schema, v2.Schema); diff != "" {
		t.Errorf("both versions serve one schema: -%s, +%s:\n%s", v1.Name, v2.Name, diff)
	}
	if !v1.Deprecated || v1.Storage || !v2.Storage {
		t.Error("v1alpha1 is deprecated and v1alpha2 is stored")
	}
	var columns []string
	for _, col := range v2.AdditionalPrinterColumns {
		columns = append(columns, col.Name)
	}
	want := []string{
		"KIND", "APIVERSION", "METANAME", "METANAMESPACE", "PROVIDERCONFIG", "SYNCED", "READY", "AGE", "REASON", "MESSAGE",
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"crossplane", "managed", "kubernetes"}, crd.Spec.Names.Categories); diff != "" {
		t.Errorf("categories: -want, +got:\n%s", diff)
	}
}

// TestValidation shows what is refused when it is applied.
func TestValidation(t *testing.T) {
	c := provide(t)
	const manifest = `"forProvider":{"manifest":{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"x","namespace":"d"}}}`
	cluster := func(spec string) string {
		return `{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object",` +
			`"metadata":{"name":"refused"},"spec":{` + spec + `}}`
	}
	ignoring := func(path string) string {
		return cluster(strings.TrimSuffix(manifest, "}") + `,"ignoreFields":[{"fieldPath":"` + path + `"}]}`)
	}
	config := func(spec string) string {
		return `{"apiVersion":"kubernetes.crossplane.io/v1alpha1","kind":"ProviderConfig",` +
			`"metadata":{"name":"refused"},"spec":{` + spec + `}}`
	}
	for name, tc := range map[string]struct{ object, want string }{
		"BothPolicies": {
			object: cluster(manifest + `,"managementPolicy":"Observe","managementPolicies":["Observe"]`),
			want:   "cannot both differ from their defaults",
		},
		"CelWithoutQuery": {
			object: cluster(manifest + `,"readiness":{"policy":"DeriveFromCelQuery"}`),
			want:   "celQuery must be set if policy is DeriveFromCelQuery",
		},
		"UnknownReadiness": {object: cluster(manifest + `,"readiness":{"policy":"Maybe"}`), want: "Unsupported value"},
		"UnknownAction":    {object: cluster(manifest + `,"managementPolicies":["Destroy"]`), want: "Unsupported value"},
		"UnknownPropagation": {
			object: cluster(`"forProvider":{"deletionPropagationPolicy":"Never","manifest":{"apiVersion":"v1","kind":"X"}}`),
			want:   "Unsupported value",
		},
		"NoManifest": {object: cluster(`"forProvider":{}`), want: "spec.forProvider.manifest: Required"},
		"JSONPathOfConnectionDetail": {
			object: cluster(manifest + `,"connectionDetails":[{"apiVersion":"v1","kind":"ConfigMap","name":"x",` +
				`"fieldPath":"{.data.key}","toConnectionSecretKey":"key"}]`),
			want: "write data.key and not {.data.key}",
		},
		"JSONPathOfIgnoredField": {
			object: ignoring("{.spec.replicas}"), want: "write spec.replicas and not {.spec.replicas}",
		},
		"IgnoredName": {object: ignoring("metadata.name"), want: "a field that identifies the resource cannot be ignored"},
		"SecretWithoutRef": {
			object: config(`"credentials":{"source":"Secret"}`), want: "secretRef must be set if source is Secret",
		},
		"EnvWithoutName": {
			object: config(`"credentials":{"source":"Environment"}`), want: "env must be set if source is Environment",
		},
		"FsWithoutPath": {
			object: config(`"credentials":{"source":"Filesystem"}`), want: "fs must be set if source is Filesystem",
		},
		"RolesOfGoogle": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"identity":{"type":"GoogleApplicationCredentials",` +
				`"source":"InjectedIdentity","aws":{}}`),
			want: "aws can only be set for type AWSWebIdentityCredentials with source InjectedIdentity",
		},
		"RoleWithoutAccount": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"identity":{"type":"AWSWebIdentityCredentials",` +
				`"source":"InjectedIdentity","aws":{"assumeRoleChain":[{"roleARN":"arn:aws:iam::1:role/a"}]}}`),
			want: "assumeRoleChain[0].roleARN",
		},
		"GoogleAccountOfUpbound": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"identity":{"type":"UpboundTokens",` +
				`"source":"None","impersonateServiceAccount":{"name":"a@p.iam.gserviceaccount.com"}}`),
			want: "impersonateServiceAccount can only be set for type GoogleApplicationCredentials",
		},
		"GoogleAccountElsewhere": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"identity":{"type":"GoogleApplicationCredentials",` +
				`"source":"None","impersonateServiceAccount":{"name":"a@p/../b.gserviceaccount.com"}}`),
			want: "impersonateServiceAccount.name",
		},
		"AccountWithoutRef": {
			object: config(`"credentials":{"source":"ServiceAccount"}`),
			want:   "serviceAccountRef must be set if source is ServiceAccount, and must not be set for other sources",
		},
		"RefWithoutAccount": {
			object: config(`"credentials":{"source":"InjectedIdentity","serviceAccountRef":{"namespace":"d","name":"a"}}`),
			want:   "serviceAccountRef must be set if source is ServiceAccount, and must not be set for other sources",
		},
		"AccountWithoutNamespace": {
			object: config(`"credentials":{"source":"ServiceAccount","serviceAccountRef":{"name":"a"}}`),
			want:   "spec.credentials.serviceAccountRef.namespace must be set",
		},
		"SharedAccountWithoutNamespace": {
			object: `{"apiVersion":"kubernetes.m.crossplane.io/v1alpha1","kind":"ClusterProviderConfig",` +
				`"metadata":{"name":"refused"},"spec":{"credentials":` +
				`{"source":"ServiceAccount","serviceAccountRef":{"name":"a"}}}}`,
			want: "spec.credentials.serviceAccountRef.namespace must be set",
		},
		"AccountOfOtherNamespace": {
			object: `{"apiVersion":"kubernetes.m.crossplane.io/v1alpha1","kind":"ProviderConfig",` +
				`"metadata":{"namespace":"default","name":"refused"},"spec":{"credentials":` +
				`{"source":"ServiceAccount","serviceAccountRef":{"namespace":"d","name":"a"}}}}`,
			want: "spec.credentials.serviceAccountRef.namespace cannot be set",
		},
		"IdentityOfAccount": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"identity":{"type":"GoogleApplicationCredentials",` +
				`"source":"ServiceAccount","serviceAccountRef":{"namespace":"d","name":"a"}}`),
			want: "source ServiceAccount cannot be used in identity",
		},
		"AccountBesideIdentity": {
			object: config(`"credentials":{"source":"ServiceAccount","serviceAccountRef":{"namespace":"d","name":"a"}},` +
				`"identity":{"type":"GoogleApplicationCredentials","source":"None"}`),
			want: "identity cannot be set if credentials.source is ServiceAccount",
		},
		"WorkspacePath": {
			object: config(`"credentials":{"source":"InjectedIdentity"},"kcp":{"workspacePath":"root/../x"}`),
			want:   "workspacePath",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.Create(t.Context(), parse(t, tc.object)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
}

// TestFieldSelectors shows by which fields resources can be listed.
func TestFieldSelectors(t *testing.T) {
	c := provide(t)
	const (
		config, configKind = ".spec.providerConfigRef.name", ".spec.providerConfigRef.kind"
		cluster            = ".spec.clusterRef.name"
	)
	want, got := map[string][]string{
		"objects.kubernetes.crossplane.io":                      {config, ".spec.forProvider.manifest.kind"},
		"objects.kubernetes.m.crossplane.io":                    {config, configKind, ".spec.forProvider.manifest.kind"},
		"observedobjectcollections.kubernetes.crossplane.io":    {config},
		"observedobjectcollections.kubernetes.m.crossplane.io":  {config, configKind},
		"publishedresources.syncagent.kcp.io":                   {".spec.resource.kind"},
		"kubernetesapplications.workload.crossplane.io":         {cluster},
		"kubernetesapplicationresources.workload.crossplane.io": {cluster},
	}, map[string][]string{}
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	kube.List(t, c, crds)
	for _, crd := range crds.Items {
		for _, f := range crd.Spec.Versions[len(crd.Spec.Versions)-1].SelectableFields {
			got[crd.GetName()] = append(got[crd.GetName()], f.JSONPath)
		}
	}
	for name := range want {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("fields of %s: -want, +got:\n%s", name, diff)
		}
	}
	forScopes(t, func(t *testing.T, s build.Scope) {
		ns := local.Namespace(t)
		for _, o := range []build.Object{
			s.Object(ns, ns+"-a", ns, build.ConfigMap("default", "a")), s.Object(ns, ns+"-b", ns, build.Namespace("b")),
		} {
			o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			kube.Create(t, c, o)
		}
		l := s.NewList()
		kube.List(t, c, l, client.MatchingFields{
			"spec.providerConfigRef.name": ns, "spec.forProvider.manifest.kind": "Namespace",
		})
		var got []string
		if err := meta.EachListItem(l, func(o runtime.Object) error {
			m, err := meta.Accessor(o)
			got = append(got, m.GetName())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{ns + "-b"}, got); diff != "" {
			t.Errorf("Objects of kind Namespace: -want, +got:\n%s", diff)
		}
	})
}

// TestExplain shows that each field of the provider's own is documented.
func TestExplain(t *testing.T) {
	c := provide(t)
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	kube.List(t, c, crds)
	for _, crd := range crds.Items {
		for _, v := range crd.Spec.Versions {
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			undocumented(t, crd.GetName()+"/"+v.Name, "spec", spec)
		}
	}
}

func undocumented(t *testing.T, crd, path string, s apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s: field %s.%s has no description", crd, path, name)
		}
		undocumented(t, crd, path+"."+name, p)
		if p.Items != nil && p.Items.Schema != nil {
			undocumented(t, crd, path+"."+name, *p.Items.Schema)
		}
	}
}
