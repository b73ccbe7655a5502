package commandline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiffOffline shows what is said of manifests without any connection: all that is wrong with each, with its field,
// and no value.
func TestDiffOffline(t *testing.T) {
	const (
		object = `
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: Object
metadata: {name: web, namespace: team-a}
spec: {providerConfigRef: {kind: ProviderConfig, name: remote}, `
		manifest = `forProvider: {manifest: {apiVersion: v1, kind: Secret, metadata: {namespace: default}, ` +
			`stringData: {password: hunter2}}}`
	)
	for name, tc := range map[string]struct {
		reason, text, want string
	}{
		"Valid":    {reason: "What is valid is not told.", text: object + manifest + `}`},
		"Resource": {reason: "Of resources only a target can tell.", text: `{apiVersion: v1, kind: ConfigMap, x: y}`},
		"Comment":  {reason: "Comments are no manifests.", text: "# nothing\n---\n---\n"},
		"UnknownField": {
			reason: "A field that the server would drop is an error, as for kubectl.",
			text:   object + `readyness: {}, ` + manifest + `}`,
			want:   "Object team-a/web: invalid: spec.readyness: the field does not exist",
		},
		"Schema": {
			reason: "So is what the server would refuse.",
			text:   object + `managementPolicies: [Create], ` + manifest + `}`,
			want: `Object team-a/web: invalid: spec.managementPolicies: managementPolicies must be ["*"], [], or Observe with ` +
				`any of Create, Update, Delete and LateInitialize; Delete together with Update or LateInitialize needs Create`,
		},
		"Query": {
			reason: "A query must compile.",
			text:   object + `readiness: {policy: DeriveFromCelQuery, celQuery: "object.status.ready ? "}, ` + manifest + `}`,
			want:   `Object team-a/web: invalid: spec.readiness.celQuery: `,
		},
		"QueryOfReference": {
			reason: "So must that of a reference, which is told once.",
			text:   object + `references: [{dependsOn: {name: x, celQuery: "object.a ? "}}], ` + manifest + `}`,
			want:   `Object team-a/web: invalid: spec.references[0].dependsOn.celQuery: `,
		},
		"Path": {
			reason: "So must the path of a reference, and its namespace be allowed; all is told at once.",
			text: object + `references: [{patchesFrom: {apiVersion: v1, kind: Secret, name: s, fieldPath: "data[a"}}, ` +
				`{dependsOn: {name: x, namespace: other}}], ` + manifest + `}`,
			want: `Object team-a/web: invalid: ` +
				`spec.references[0].patchesFrom: fieldPath is invalid: cannot parse: unterminated '[' at position 4; ` +
				`spec.references[1].dependsOn: namespace "other" is not the namespace of the Object, and other namespaces ` +
				`need the provider's flag --allow-cross-namespace-references`,
		},
		"IgnoredField": {
			reason: "So must the path of a field that is left to others.",
			text:   object + `forProvider: {manifest: {apiVersion: v1, kind: X}, ignoreFields: [{fieldPath: "spec[a"}]}}`,
			want:   "Object team-a/web: invalid: cannot parse spec.forProvider.ignoreFields[0].fieldPath: ",
		},
		"Version": {
			reason: "A version that we do not have is none.",
			text:   `{apiVersion: kubernetes.crossplane.io/v1, kind: Object, metadata: {name: web}}`,
			want: `Object web: invalid: ` +
				`CustomResourceDefinition "objects.kubernetes.crossplane.io" has no schema of version "v1"`,
		},
		"Selector": {
			reason: "So is an operator of a selector.",
			text: `{apiVersion: kubernetes.crossplane.io/v1alpha1, kind: ObservedObjectCollection, metadata: {name: c}, spec: ` +
				`{providerConfigRef: {name: p}, observeObjects: {apiVersion: v1, kind: Pod, ` +
				`selector: {matchExpressions: [{key: a, operator: Is}]}}}}`,
			want: `ObservedObjectCollection c: invalid: ` +
				`spec.observeObjects.selector: "Is" is not a valid label selector operator`,
		},
		"Template": {
			reason: "So must all texts of a PublishedResource, of which each is told.",
			text: `{apiVersion: syncagent.kcp.io/v1alpha1, kind: PublishedResource, metadata: {name: p}, spec: ` +
				`{resource: {apiGroup: example.org, version: v1, kind: X}, naming: {name: "{{ .Object"}, ` +
				`mutation: {spec: [{regex: {path: spec.x, pattern: "("}}]}}}`,
			want: `PublishedResource p: invalid: spec.`,
		},
		"NoYAML": {
			reason: "What is no YAML is not quoted.", text: "a: *hunter2", want: "-, document 1: invalid: " +
				"the document is not YAML of a resource, or has a duplicate key",
		},
		"NoKind": {
			reason: "So is what has no kind, also in a list.",
			text:   "apiVersion: v1\nx: hunter2\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: v1, x: hunter2}]}",
			want: "-, document 1: invalid: the document is not YAML of a resource, or has a duplicate key\n" +
				"-, document 2: invalid: an item has no kind",
		},
		"KeyTwice": {
			reason: "Of a key that is given twice the server would drop one.", text: "a: hunter2\na: b",
			want: "-, document 1: invalid: the document is not YAML of a resource, or has a duplicate key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Diff(t.Context(), Options{Files: []string{"-"}, In: strings.NewReader(tc.text)})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := r.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			got, code := strings.TrimSuffix(b.String(), "\n"), 0
			if tc.want != "" {
				code = ExitUnknown
			}
			if strings.HasSuffix(tc.want, ": ") || strings.HasSuffix(tc.want, ".") && len(got) > len(tc.want) {
				got = got[:min(len(got), len(tc.want))] // The rest are words of a library.
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || r.ExitCode != code {
				t.Errorf("%s\nexit code: want %d, got %d; -want, +got:\n%s", tc.reason, code, r.ExitCode, diff)
			}
		})
	}
}
