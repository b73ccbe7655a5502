package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

// What all Objects of the tables have. An Object is settled, and watched, unless its row says otherwise.
const (
	clusterScoped = `
apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: app}
spec:
  watch: true
  forProvider: {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}}
status:
  conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "2026-01-01T00:00:00Z"}]
`
	namespaced = `
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: Object
metadata: {name: app, namespace: team}
spec:
  watch: true
  forProvider: {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}}
status:
  conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "2026-01-01T00:00:00Z"}]
`
	ofCluster   = "Object of kubernetes.crossplane.io"
	ofNamespace = "Object of kubernetes.m.crossplane.io"
)

// read returns an object of YAML, over which others are laid.
func read(t *testing.T, base string, over ...string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	for _, content := range append([]string{base}, over...) {
		part := map[string]any{}
		if err := yaml.Unmarshal([]byte(content), &part); err != nil {
			t.Fatal(err)
		}
		u.Object = overlay(u.Object, part)
	}
	return u
}

func overlay(base, over map[string]any) map[string]any {
	if base == nil {
		return over
	}
	for k, v := range over {
		b, isMap := base[k].(map[string]any)
		o, alsoMap := v.(map[string]any)
		if isMap && alsoMap {
			v = overlay(b, o)
		}
		base[k] = v
	}
	return base
}

// judgeObject returns what becomes of an Object.
func judgeObject(t *testing.T, crossNamespace bool, u *unstructured.Unstructured) []Finding {
	t.Helper()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchema(definitions["objects."+u.GroupVersionKind().Group], u.GroupVersionKind().Version)
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{t: newTally()}
	p.options.Target.AllowCrossNamespace = crossNamespace
	p.judgeObject(t.Context(), u, s)
	return tallied(p.t)
}

func TestJudgeObjects(t *testing.T) {
	const seen = `status: {atProvider: {manifest: {apiVersion: v1, kind: ConfigMap, ` +
		`metadata: {name: app, namespace: default, uid: u-1`
	refusedField := func(what, why string) verdict {
		return refused(what+" that the CustomResourceDefinition of this provider rejects", why, "change the field")
	}
	for name, tc := range map[string]struct {
		reason         string
		crossNamespace bool
		object         *unstructured.Unstructured
		want           []verdict
	}{
		"Kept": {
			reason: "A settled Object is taken over as it is.",
			object: read(t, clusterScoped), want: []verdict{kept(ofCluster)},
		},
		"KeptInNamespace": {
			reason: "So is that of a namespace.", object: read(t, namespaced), want: []verdict{kept(ofNamespace)},
		},
		"NotWatched": {
			reason: "Drift is reverted at once, which changes nothing else.",
			object: read(t, clusterScoped, "spec: {watch: false}"),
			want: []verdict{
				differs(ofCluster+" without watch: true",
					"this provider watches the resource anyway: it reverts drift at once, not at the next poll"),
				kept(ofCluster),
			},
		},
		"AppliedClientSide": {
			reason: "Fields that were applied client-side change their manager.",
			object: read(t, clusterScoped,
				seen+`, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}}}`),
			want: []verdict{differs(ofCluster+" that was applied client-side",
				"one patch transfers its fields to manager provider-kubernetes/<name>. This removes "+
					"fields that are no longer in the manifest")},
		},
		"ObservesWhatKubectlApplied": {
			reason: "An Object that only observes takes over no fields.",
			object: read(t, clusterScoped, "spec: {managementPolicies: [Observe]}",
				seen+`, annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}}}`),
			want: []verdict{kept(ofCluster)},
		},
		"Policies": {
			reason: "Policies without Observe are refused, which provider-kubernetes accepts and never follows.",
			object: read(t, clusterScoped, "spec: {managementPolicies: [Create, Delete]}"),
			want: []verdict{refusedField(ofCluster,
				`spec.managementPolicies: managementPolicies must be ["*"], [], or Observe with any`+
					` of Create, Update, Delete and LateInitialize; Delete together with Update or LateInitialize needs Create`)},
		},
		"KindOfProviderConfig": {
			reason: "A misspelt kind names no ProviderConfig. The kinds are listed, the value is not repeated.",
			object: read(t, namespaced,
				"spec: {providerConfigRef: {kind: Provider-Config, name: default}}"),
			want: []verdict{refusedField(ofNamespace,
				`spec.providerConfigRef.kind: supported values: "ProviderConfig", "ClusterProviderConfig"`)},
		},
		"OtherNamespace": {
			reason: "References to other namespaces need a flag.",
			object: read(t, namespaced,
				"spec: {references: [{dependsOn: {apiVersion: v1, kind: Secret, name: key, namespace: other}}]}"),
			want: []verdict{refused(ofNamespace+" with a reference to another namespace",
				"namespaced Objects may only refer to resources in their namespace",
				"start this provider, and this check, with --allow-cross-namespace-references, or refer to a copy in the "+
					"namespace: docs/reference/object.md")},
		},
		"OtherNamespaceAllowed": {
			reason: "With the flag they are kept.", crossNamespace: true,
			object: read(t, namespaced,
				"spec: {references: [{dependsOn: {apiVersion: v1, kind: Secret, name: key, namespace: other}}]}"),
			want: []verdict{kept(ofNamespace)},
		},
		"OtherNamespaceOfClusterScoped": {
			reason: "Cluster-scoped Objects refer to any namespace.",
			object: read(t, clusterScoped,
				"spec: {references: [{dependsOn: {apiVersion: v1, kind: Secret, name: key, namespace: other}}]}"),
			want: []verdict{kept(ofCluster)},
		},
		"InvalidReference": {
			reason: "A path that cannot be parsed is refused.",
			object: read(t, clusterScoped,
				"spec: {references: [{patchesFrom: {apiVersion: v1, kind: Secret, name: key, namespace: x, "+
					"fieldPath: 'data[key'}}]}"),
			want: []verdict{refused(ofCluster+" with a reference that is refused",
				"spec.references[0].patchesFrom: fieldPath is invalid: cannot parse: unterminated '[' at position 4",
				"change the reference: docs/reference/object.md")},
		},
		"MembersTogether": {
			reason: "A dependency beside a value counts from now on.",
			object: read(t, clusterScoped, "spec: {references: [{dependsOn: {name: other}, patchesFrom: {name: other, "+
				"fieldPath: metadata.uid}}]}"),
			want: []verdict{differs(ofCluster+" with both dependsOn and patchesFrom in a reference",
				"both apply: the Object is not reconciled while the resource in dependsOn does not exist, and that "+
					"resource is "+
					"deleted after the Object")},
		},
		"NotSynced": {
			reason: "What is half done would be done by the takeover.",
			object: read(t, clusterScoped,
				`status: {conditions: [{type: Synced, status: "False", reason: ReconcileError, message: secret}]}`),
			want: []verdict{refused(ofCluster+" that is not Synced",
				"this provider would make a change that provider-kubernetes could not make, or fail like it",
				"read the condition, then fix the Object or delete it")},
		},
		"Paused": {
			reason: "A paused Object stays paused.",
			object: read(t, clusterScoped,
				`status: {conditions: [{type: Synced, status: "False", reason: ReconcilePaused}]}`),
			want: []verdict{kept(ofCluster)},
		},
		"Deleted": {
			reason: "A deletion goes on.",
			object: read(t, clusterScoped,
				`metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}`, "status: {conditions: []}"),
			want: []verdict{differs(ofCluster+" that is being deleted",
				"its deletion continues, and deletes only the resource that the Object has created or last observed")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var want []Finding
			for _, v := range tc.want {
				want = append(want, one(nameOf(tc.object), v))
			}
			if diff := cmp.Diff(want, judgeObject(t, tc.crossNamespace, tc.object)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
