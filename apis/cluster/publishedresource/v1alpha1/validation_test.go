package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const source = "resource: {apiGroup: cert-manager.io, kind: Certificate}\n"

// published returns a PublishedResource with a spec in YAML.
func published(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	s := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatalf("%v:\n%s", err, spec)
	}
	u.Object = map[string]any{"spec": s}
	u.SetGroupVersionKind(publishedv1alpha1.PublishedResourceGroupVersionKind)
	u.SetName(name)
	return u
}

// related returns a spec with one related resource, of which fields in YAML flow style are given.
func related(fields string) string { return source + "related: [{" + fields + "}]" }

// step returns a spec with one step of mutation.
func step(fields string) string { return source + "mutation: {spec: [{" + fields + "}]}" }

// projection returns a spec with a projection.
func projection(fields string) string { return source + "projection: {" + fields + "}" }

const (
	secret = "identifier: tls, origin: service, kind: Secret"
	byPath = "object: {reference: {path: spec.secretName}}"
)

// TestAccepted shows that forms which have a meaning are accepted.
func TestAccepted(t *testing.T) {
	c := prepared(t)
	for name, tc := range map[string]struct{ reason, spec string }{
		"Minimal":   {reason: "Only the source must be named.", spec: source},
		"CoreGroup": {reason: "The core group is empty.", spec: `resource: {apiGroup: "", kind: ConfigMap}`},
		"Versions": {
			reason: "Several versions may be named.",
			spec:   "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}",
		},
		"VersionsEmpty": {
			reason: "An empty list beside version means all of its items: none.",
			spec:   "resource: {apiGroup: a.b, kind: C, version: v1, versions: []}",
		},
		"ProjectedVersion": {
			reason: "One version may be renamed by version.",
			spec:   "resource: {apiGroup: a.b, kind: C, versions: [v1]}\nprojection: {version: v2}",
		},
		"ProjectedVersions": {reason: "Versions may swap names.", spec: projection("versions: {v1: v2, v2: v1}")},
		"NoShortNames": {
			reason: "An empty list is not the same as none.",
			spec:   projection("shortNames: [], categories: []"),
		},
		"NullShortNames": {
			reason: "The agent's own client writes null for none.",
			spec:   projection("shortNames: null, categories: null"),
		},
		"NamespaceByLabels": {
			reason: "Namespaces may be selected by labels.",
			spec:   source + "filter: {namespace: {matchLabels: {a: b}}}",
		},
		"NamespaceByName": {reason: "A namespace may be named.", spec: source + "filter: {namespace: my-app}"},
		"Regex": {
			reason: "A regular expression is one step.",
			spec:   step(`regex: {path: a, pattern: "(.+)", replacement: "x-$1"}`),
		},
		"RegexWithoutPattern": {
			reason: "Without a pattern the whole value is replaced.",
			spec:   step("regex: {path: a, replacement: b}"),
		},
		"Template": {reason: "A template is one step.", spec: step(`template: {path: a, template: "{{ .Value }}"}`)},
		"Delete":   {reason: "Deletion is one step.", spec: step("delete: {path: a}")},
		"CEL":      {reason: "An expression is one step.", spec: step("cel: {path: a, expression: value + 1}")},
		"RelatedOfAnyKind": {
			reason: "Related resources can be of any kind.",
			spec:   related("identifier: a, origin: kcp, group: g.io, version: v1, resource: things, identityHash: abc, " + byPath),
		},
		"RelatedOfCore": {
			reason: "Resources of the core group have no group.",
			spec:   related("identifier: a, origin: kcp, version: v1, resource: secrets, " + byPath),
		},
		"RelatedOpened": {
			reason: "The service owner may open what consumers name.",
			spec:   related(secret + `, consumerMayName: {namespaces: ["team-$remoteClusterName-*"], objects: ["*"]}, ` + byPath),
		},
		"RelatedProjected": {
			reason: "Related resources may be something else in kcp.",
			spec:   related("identifier: a, origin: kcp, version: v1, resource: secrets, projection: {resource: things, group: g.io}, " + byPath),
		},
		"RelatedTemplate": {
			reason: "A template names related objects and their namespace.",
			spec:   related(secret + ", object: {template: {template: x}, namespace: {template: {template: b}}}"),
		},
		"SyncStatusOfKCP": {
			reason: "Status of what consumers make needs no watch.",
			spec:   related("identifier: a, origin: kcp, kind: Secret, syncStatus: true, " + byPath),
		},
		"SyncStatusUnwatched": {
			reason: "Nor does status of what is made on the service cluster.",
			spec:   related(secret + ", syncStatus: true, " + byPath),
		},
		"SyncStatusWatched": {
			reason: "Status of what is watched can be synced.",
			spec:   related(secret + ", syncStatus: true, watch: {byOwner: {}}, " + byPath),
		},
		"NoSyncStatus": {
			reason: "syncStatus false asks for nothing.",
			spec:   related(secret + ", syncStatus: false, " + byPath),
		},
		"WatchBySelector": {
			reason: "Objects may be watched by selector.",
			spec:   related(secret + ", watch: {bySelector: {matchLabels: {a: b}}}, " + byPath),
		},
		"TwoIdentifiers": {
			reason: "Related resources with different identifiers.",
			spec: source + "related: [{" + secret + "," + byPath +
				"},{identifier: ca, origin: service, kind: Secret, " + byPath + "}]",
		},
		"TwoWithoutIdentifier": {
			reason: "The default identifier is the kind.",
			spec:   source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}},{origin: kcp, kind: ConfigMap, reference: {name: {path: a}}}]",
		},
		"NotSynced": {reason: "Only the schema may be published.", spec: source + "synchronization: {enabled: false}"},
		"Export": {
			reason: "The APIExport may be named, and made.",
			spec:   source + "apiExport: {name: certs, endpointSlice: certs, create: true, maximalPermissionPolicy: {local: {}}, claimVerbs: Needed}\nagentName: certs",
		},
		"OurOwn": {
			reason: "What the agent does not have.",
			spec:   source + "createdNamespaces: {labels: {a: b}, annotations: {c: d}, deleteWhenEmpty: true}\nexistingObjects: Refuse\nunboundWorkspaces: Delete\nretainSchemas: false\nserviceClusterConfigRef: {name: other}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "accepted", tc.spec), client.DryRunAll,
				client.FieldValidation(metav1.FieldValidationStrict))
			if err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

// TestRefused shows that what can only fail is refused when it is applied.
func TestRefused(t *testing.T) {
	c := prepared(t)
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"NoResource": {
			reason: "There is nothing to publish.",
			spec:   "naming: {name: x}",
			want:   "spec.resource: Required",
		},
		"NoGroup": {
			reason: "The core group is said explicitly.",
			spec:   "resource: {kind: C}",
			want:   "apiGroup: Required",
		},
		"NoKind": {
			reason: "A kind is needed.",
			spec:   `resource: {apiGroup: a.b, kind: ""}`,
			want:   "spec.resource.kind",
		},
		"VersionAndVersions": {
			reason: "The agent only fails when it runs.",
			spec:   "resource: {apiGroup: a.b, kind: C, version: v1, versions: [v1]}",
			want:   "version and versions cannot both be set",
		},
		"ProjectedBoth": {
			reason: "The agent ignores one of them.",
			spec:   projection("version: v1, versions: {v1: v2}"),
			want:   "version and versions cannot both be set",
		},
		"OneNameForSeveral": {
			reason: "Several versions cannot get one name.",
			spec:   "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}\nprojection: {version: v3}",
			want:   "projection.version can only be set if one version is published",
		},
		"SameVersionName": {
			reason: "Names of versions are unique.",
			spec:   projection("versions: {v1: v3, v2: v3}"),
			want:   "no two versions can have the same name in kcp",
		},
		"VersionName": {
			reason: "kcp serves versions with Kubernetes names only.",
			spec:   projection("versions: {stable: stable}"),
			want:   "spec.projection.versions",
		},
		"SingleVersionName": {
			reason: "kcp serves versions with Kubernetes names only.",
			spec:   projection("version: v0"),
			want:   "spec.projection.version",
		},
		"GroupWithoutDot": {
			reason: "A group in kcp has a dot.",
			spec:   projection("group: certs"),
			want:   "spec.projection.group",
		},
		"KindWithSpace": {reason: "A kind is a name.", spec: projection("kind: A B"), want: "spec.projection.kind"},
		"PluralWithDot": {
			reason: "A plural is a name.",
			spec:   projection("plural: a.b"),
			want:   "spec.projection.plural",
		},
		"Scope": {
			reason: "There are two scopes.",
			spec:   projection("scope: Both"),
			want:   "Unsupported value",
		},
		"ShortName": {
			reason: "Short names are in lower case.",
			spec:   projection("shortNames: [Certs]"),
			want:   "spec.projection.shortNames",
		},
		"Category": {
			reason: "Categories are in lower case.",
			spec:   projection("categories: [All]"),
			want:   "spec.projection.categories",
		},
		"EmptyStep": {
			reason: "A step that does nothing is a mistake.",
			spec:   step(""),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"TwoInOneStep": {
			reason: "The agent does one and ignores the other.",
			spec:   step("delete: {path: a}, regex: {path: a}"),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"TwoInOneStatusStep": {
			reason: "Steps of status are steps.",
			spec:   source + "mutation: {status: [{delete: {path: a}, template: {path: a, template: b}}]}",
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"NoPath":    {reason: "A step changes something.", spec: step("delete: {}"), want: "path: Required"},
		"EmptyPath": {reason: "A path names something.", spec: step(`delete: {path: ""}`), want: "path"},
		"NoTemplate": {
			reason: "A template is needed.",
			spec:   step("template: {path: a}"),
			want:   "template: Required",
		},
		"NoExpression": {
			reason: "An expression is needed.",
			spec:   step(`cel: {path: a, expression: ""}`),
			want:   "expression",
		},
		"LongExpression": {
			reason: "An expression is no longer than what can be compiled.",
			spec:   step(`cel: {path: a, expression: "` + strings.Repeat("1+", 5000) + `1"}`),
			want:   "expression",
		},
		"Pattern": {
			reason: "A pattern must be a regular expression.",
			spec:   step(`regex: {path: a, pattern: "("}`),
			want:   "missing closing )",
		},
		"ReferencePattern": {
			reason: "A pattern must be a regular expression.",
			spec:   related(secret + `, object: {reference: {path: a, regex: {pattern: "["}}}`),
			want:   "missing closing ]",
		},
		"DuplicateIdentifier": {
			reason: "An identifier is a key.",
			spec:   source + "related: [{" + secret + "," + byPath + "},{" + secret + "," + byPath + "}]",
			want:   "each identifier must be unique",
		},
		"DuplicateDefault": {
			reason: "A default identifier is a key, too.",
			spec:   source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}},{identifier: secret, origin: service, kind: Secret, " + byPath + "}]",
			want:   "each identifier must be unique",
		},
		"NoIdentifier": {
			reason: "Only the oldest form has none.",
			spec:   related("origin: service, kind: Secret, " + byPath),
			want:   "identifier must be set",
		},
		"Identifier": {
			reason: "An identifier is part of an annotation's key.",
			spec:   related("identifier: a/b, origin: service, kind: Secret, " + byPath),
			want:   "identifier",
		},
		"Origin": {
			reason: "There are two sides.",
			spec:   related("identifier: a, origin: moon, kind: Secret, " + byPath),
			want:   "Unsupported value",
		},
		"NoOrigin": {
			reason: "An origin is needed.",
			spec:   related("identifier: a, kind: Secret, " + byPath),
			want:   "origin: Required",
		},
		"Kind": {
			reason: "kind can only say two.",
			spec:   related("identifier: a, origin: kcp, kind: Pod, " + byPath),
			want:   "Unsupported value",
		},
		"NeitherKindNorResource": {
			reason: "Something must be named.",
			spec:   related("identifier: a, origin: kcp, " + byPath),
			want:   "either kind or version and resource must be set",
		},
		"KindAndResource": {
			reason: "Only one thing can be named.",
			spec:   related("identifier: a, origin: kcp, kind: Secret, version: v1, resource: secrets, " + byPath),
			want:   "either kind or version and resource must be set",
		},
		"ResourceAlone": {
			reason: "A resource has a version.",
			spec:   related("identifier: a, origin: kcp, resource: secrets, " + byPath),
			want:   "version and resource must be set together",
		},
		"GroupAlone": {
			reason: "A group is not a resource.",
			spec:   related("identifier: a, origin: kcp, kind: Secret, group: g.io, " + byPath),
			want:   "group can only be set beside version and resource",
		},
		"IdentityOfCore": {
			reason: "Built-in resources have no identity.",
			spec:   related("identifier: a, origin: kcp, version: v1, resource: secrets, identityHash: abc, " + byPath),
			want:   "identityHash can only be set beside",
		},
		"NoObject": {
			reason: "Objects must be found somehow.",
			spec:   related(secret),
			want:   "exactly one of object and reference must be set",
		},
		"ObjectAndReference": {
			reason: "Two forms of one thing.",
			spec:   related(secret + ", reference: {name: {path: a}}, " + byPath),
			want:   "exactly one of object and reference must be set",
		},
		"EmptyObject": {
			reason: "Objects must be found somehow.",
			spec:   related(secret + ", object: {}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"TwoWaysToFind": {
			reason: "Objects are found in one way.",
			spec:   related(secret + ", object: {reference: {path: a}, template: {template: b}}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"EmptyNamespace": {
			reason: "Namespaces must be found somehow.",
			spec:   related(secret + ", object: {reference: {path: a}, namespace: {}}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"TwoWaysToFindNamespace": {
			reason: "Namespaces are found in one way.",
			spec:   related(secret + ", object: {reference: {path: a}, namespace: {reference: {path: a}, template: {template: b}}}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"NoRewrite": {
			reason: "Names must not leak.",
			spec:   related(secret + ", object: {selector: {matchLabels: {a: b}}}"),
			want:   "rewrite: Required",
		},
		"OpenedByAnything": {
			reason: "Only * and the logical cluster stand for something else.",
			spec:   related(secret + `, consumerMayName: {objects: ["$remoteName-[a-z]"]}, ` + byPath),
			want:   "consumerMayName.objects[0]",
		},
		"EmptyRewrite": {
			reason: "Names must not leak.",
			spec:   related(secret + ", object: {selector: {matchLabels: {a: b}, rewrite: {}}}"),
			want:   "exactly one of regex and template must be set",
		},
		"TwoRewrites": {
			reason: "A rewrite is a regular expression or a template, never both.",
			spec:   related(secret + `, object: {selector: {matchLabels: {a: b}, rewrite: {regex: {replacement: a}, template: {template: b}}}}`),
			want:   "exactly one of regex and template must be set",
		},
		"EmptyWatch": {
			reason: "A watch needs a way back.",
			spec:   related(secret + ", watch: {}, " + byPath),
			want:   "exactly one of byOwner and bySelector must be set",
		},
		"TwoWatches": {
			reason: "There is one way back.",
			spec:   related(secret + ", watch: {byOwner: {}, bySelector: {}}, " + byPath),
			want:   "exactly one of byOwner and bySelector must be set",
		},
		"RelatedTwoInOneStep": {
			reason: "Steps of related resources are steps.",
			spec:   related(secret + ", mutation: {spec: [{delete: {path: a}, regex: {path: a}}]}, " + byPath),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"NoEnabled": {
			reason: "It must be said whether objects are synced.",
			spec:   source + "synchronization: {}",
			want:   "enabled: Required",
		},
		"AgentName": {
			reason: "An agent's name is the value of a label.",
			spec:   source + "agentName: My.Agent",
			want:   "spec.agentName",
		},
		"DeletionPolicy": {
			reason: "There are two policies.",
			spec:   source + "deletionPolicy: Keep",
			want:   "Unsupported value",
		},
		"ManagementAction": {
			reason: "There are six actions.",
			spec:   source + "managementPolicies: [Destroy]",
			want:   "Unsupported value",
		},
		"ExistingObjects": {
			reason: "There are three policies.",
			spec:   source + "existingObjects: Replace",
			want:   "Unsupported value",
		},
		"UnboundWorkspaces": {
			reason: "There are two policies.",
			spec:   source + "unboundWorkspaces: Forget",
			want:   "Unsupported value",
		},
		"ClaimVerbs": {
			reason: "There are two ways to claim.",
			spec:   source + "apiExport: {claimVerbs: Some}",
			want:   "Unsupported value",
		},
		"EmptyExport": {
			reason: "A name is not empty.",
			spec:   source + `apiExport: {name: ""}`,
			want:   "spec.apiExport.name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "refused", tc.spec), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestFixed shows what cannot change once others rely on it, and that all else can.
func TestFixed(t *testing.T) {
	c := prepared(t)
	const (
		unpublished = "{}"
		isPublished = "{resourceSchemaName: v1.certificates.cert-manager.io, workspaces: {bound: 0}}"
		isBound     = "{resourceSchemaName: v1.certificates.cert-manager.io, workspaces: {bound: 1}}"
	)
	const before = source + "projection: {kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [serts]}"
	for name, tc := range map[string]struct{ reason, status, before, after, want string }{
		"KindBefore": {
			reason: "What is not published yet can be corrected.",
			status: unpublished,
			before: before,
			after:  "resource: {apiGroup: cert-manager.io, kind: Issuer}",
			want:   "",
		},
		"KindAfter": {
			reason: "Copies of one kind cannot become those of another.",
			status: isPublished,
			before: before,
			after:  strings.Replace(before, "Certificate", "Issuer", 1),
			want:   "the group and kind of spec.resource cannot change",
		},
		"GroupAfter": {
			reason: "Copies of one group cannot become those of another.",
			status: isPublished,
			before: before,
			after:  strings.Replace(before, "cert-manager.io", "certs.io", 1),
			want:   "the group and kind of spec.resource cannot change",
		},
		"VersionsAfter": {
			reason: "Versions come and go.",
			status: isBound,
			before: before,
			after:  strings.Replace(before, "kind: Certificate", "kind: Certificate, versions: [v1]", 1),
			want:   "",
		},
		"ProjectionUnbound": {
			reason: "What no one has bound can be renamed.",
			status: isPublished,
			before: before,
			after:  projection("group: a.b, kind: X, plural: xs, scope: Cluster"),
			want:   "",
		},
		"ProjectionGone": {
			reason: "No projection is another name.",
			status: isBound,
			before: before,
			after:  source,
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedGroup": {
			reason: "A group that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("group: a.b, kind: Sertifikat, plural: sertifikater, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedKind": {
			reason: "A kind that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: X, plural: sertifikater, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedPlural": {
			reason: "A plural that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: Sertifikat, plural: x, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedScope": {
			reason: "A scope that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: Sertifikat, plural: sertifikater, scope: Cluster"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ShortNames": {
			reason: "Short names may change at any time.",
			status: isBound,
			before: before,
			after:  projection("kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [], categories: [all], versions: {v1: v2}"),
			want:   "",
		},
		"AllElse": {
			reason: "The rest may change at any time.",
			status: isBound,
			before: before,
			after:  before + "\nnaming: {name: x}\nmutation: {spec: [{delete: {path: a}}]}\nagentName: other\ndeletionPolicy: Delete",
			want:   "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := published(t, "fixed", tc.before)
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), u)) })
			defer func() { _ = c.Delete(t.Context(), u) }()
			status := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.status), &status); err != nil {
				t.Fatal(err)
			}
			u.Object["status"] = status
			if err := c.Status().Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			u.Object["spec"] = published(t, "", tc.after).Object["spec"]
			err := c.Update(t.Context(), u)
			if tc.want == "" && err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestGuide shows that what guides of api-syncagent have shown through the years is accepted as it is, and kept so when
// it is written back.
func TestGuide(t *testing.T) {
	c := prepared(t)
	files, err := filepath.Glob(filepath.Join("testdata", "guide", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			content, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			u := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
				t.Fatal(err)
			}
			written := u.DeepCopy().Object["spec"].(map[string]any)
			if err := c.Create(t.Context(), u, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Delete(t.Context(), u) }()
			pr := &publishedv1alpha1.PublishedResource{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
				t.Fatal(err)
			}
			if err := c.Update(t.Context(), pr); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				t.Fatal(err)
			}
			got := u.Object["spec"].(map[string]any)
			for _, added := range []string{
				"providerConfigRef", "managementPolicies", "deletionPolicy", "retainSchemas", "stateNamespace",
			} {
				delete(got, added)
			}
			if diff := cmp.Diff(written, got); diff != "" {
				t.Errorf("spec: -written, +read:\n%s", diff)
			}
		})
	}
}

// TestKeepsEmptyLists shows that a typed client does not lose the difference between an empty list and none.
func TestKeepsEmptyLists(t *testing.T) {
	c := prepared(t)
	u := published(t, "lists", projection("shortNames: []"))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Delete(t.Context(), u) }()
	pr := &publishedv1alpha1.PublishedResource{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
		t.Fatal(err)
	}
	pr.SetLabels(map[string]string{"a": "b"})
	if err := c.Update(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(u.Object, "spec", "projection")
	if diff := cmp.Diff(map[string]any{"shortNames": []any{}}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestDefaults shows what the server adds.
func TestDefaults(t *testing.T) {
	c := prepared(t)
	u := published(t, "defaults", source)
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Delete(t.Context(), u) }()
	pr := &publishedv1alpha1.PublishedResource{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), pr); err != nil {
		t.Fatal(err)
	}
	want := publishedv1alpha1.PublishedResourceSpec{
		ProviderConfigReference: &xpv2.Reference{Name: "default"},
		ManagementPolicies:      xpv2.ManagementPolicies{"*"},
		DeletionPolicy:          xpv2.DeletionOrphan,
		RetainSchemas:           new(true),
		Resource:                publishedv1alpha1.SourceResource{APIGroup: "cert-manager.io", Kind: "Certificate"},
	}
	if diff := cmp.Diff(want, pr.Spec); diff != "" {
		t.Errorf("spec: -want, +got:\n%s", diff)
	}
}
