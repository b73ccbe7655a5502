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
		"Minimal":             {"Only the source must be named.", source},
		"CoreGroup":           {"The core group is empty.", `resource: {apiGroup: "", kind: ConfigMap}`},
		"Versions":            {"Several versions may be named.", "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}"},
		"VersionsEmpty":       {"An empty list beside version means all of its items: none.", "resource: {apiGroup: a.b, kind: C, version: v1, versions: []}"},
		"ProjectedVersion":    {"One version may be renamed by version.", "resource: {apiGroup: a.b, kind: C, versions: [v1]}\nprojection: {version: v2}"},
		"ProjectedVersions":   {"Versions may swap names.", projection("versions: {v1: v2, v2: v1}")},
		"NoShortNames":        {"An empty list is not the same as none.", projection("shortNames: [], categories: []")},
		"NullShortNames":      {"The agent's own client writes null for none.", projection("shortNames: null, categories: null")},
		"NamespaceByLabels":   {"Namespaces may be selected by labels.", source + "filter: {namespace: {matchLabels: {a: b}}}"},
		"NamespaceByName":     {"A namespace may be named.", source + "filter: {namespace: my-app}"},
		"Regex":               {"A regular expression is one step.", step(`regex: {path: a, pattern: "(.+)", replacement: "x-$1"}`)},
		"RegexWithoutPattern": {"Without a pattern the whole value is replaced.", step("regex: {path: a, replacement: b}")},
		"Template":            {"A template is one step.", step(`template: {path: a, template: "{{ .Value }}"}`)},
		"Delete":              {"Deletion is one step.", step("delete: {path: a}")},
		"CEL":                 {"An expression is one step.", step("cel: {path: a, expression: value + 1}")},
		"RelatedOfAnyKind":    {"Related resources can be of any kind.", related("identifier: a, origin: kcp, group: g.io, version: v1, resource: things, identityHash: abc, " + byPath)},
		"RelatedOfCore":       {"Resources of the core group have no group.", related("identifier: a, origin: kcp, version: v1, resource: secrets, " + byPath)},
		"RelatedOpened": {
			"The service owner may open what consumers name.",
			related(secret + `, consumerMayName: {namespaces: ["team-$remoteClusterName-*"], objects: ["*"]}, ` + byPath),
		},
		"RelatedProjected":     {"Related resources may be something else in kcp.", related("identifier: a, origin: kcp, version: v1, resource: secrets, projection: {resource: things, group: g.io}, " + byPath)},
		"RelatedTemplate":      {"A template names related objects and their namespace.", related(secret + ", object: {template: {template: x}, namespace: {template: {template: b}}}")},
		"SyncStatusOfKCP":      {"Status of what consumers make needs no watch.", related("identifier: a, origin: kcp, kind: Secret, syncStatus: true, " + byPath)},
		"SyncStatusUnwatched":  {"Nor does status of what is made on the service cluster.", related(secret + ", syncStatus: true, " + byPath)},
		"SyncStatusWatched":    {"Status of what is watched can be synced.", related(secret + ", syncStatus: true, watch: {byOwner: {}}, " + byPath)},
		"NoSyncStatus":         {"syncStatus false asks for nothing.", related(secret + ", syncStatus: false, " + byPath)},
		"WatchBySelector":      {"Objects may be watched by selector.", related(secret + ", watch: {bySelector: {matchLabels: {a: b}}}, " + byPath)},
		"TwoIdentifiers":       {"Related resources with different identifiers.", source + "related: [{" + secret + "," + byPath + "},{identifier: ca, origin: service, kind: Secret, " + byPath + "}]"},
		"TwoWithoutIdentifier": {"The default identifier is the kind.", source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}},{origin: kcp, kind: ConfigMap, reference: {name: {path: a}}}]"},
		"NotSynced":            {"Only the schema may be published.", source + "synchronization: {enabled: false}"},
		"Export":               {"The APIExport may be named, and made.", source + "apiExport: {name: certs, endpointSlice: certs, create: true, maximalPermissionPolicy: {local: {}}, claimVerbs: Needed}\nagentName: certs"},
		"OurOwn":               {"What the agent does not have.", source + "createdNamespaces: {labels: {a: b}, annotations: {c: d}, deleteWhenEmpty: true}\nexistingObjects: Refuse\nunboundWorkspaces: Delete\nretainSchemas: false\nserviceClusterConfigRef: {name: other}"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "accepted", tc.spec), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
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
		"NoResource":             {"There is nothing to publish.", "naming: {name: x}", "spec.resource: Required"},
		"NoGroup":                {"The core group is said explicitly.", "resource: {kind: C}", "apiGroup: Required"},
		"NoKind":                 {"A kind is needed.", `resource: {apiGroup: a.b, kind: ""}`, "spec.resource.kind"},
		"VersionAndVersions":     {"The agent only fails when it runs.", "resource: {apiGroup: a.b, kind: C, version: v1, versions: [v1]}", "version and versions cannot both be set"},
		"ProjectedBoth":          {"The agent ignores one of them.", projection("version: v1, versions: {v1: v2}"), "version and versions cannot both be set"},
		"OneNameForSeveral":      {"Several versions cannot get one name.", "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}\nprojection: {version: v3}", "projection.version can only be set if one version is published"},
		"SameVersionName":        {"Names of versions are unique.", projection("versions: {v1: v3, v2: v3}"), "no two versions can have the same name in kcp"},
		"VersionName":            {"kcp serves versions with Kubernetes names only.", projection("versions: {stable: stable}"), "spec.projection.versions"},
		"SingleVersionName":      {"kcp serves versions with Kubernetes names only.", projection("version: v0"), "spec.projection.version"},
		"GroupWithoutDot":        {"A group in kcp has a dot.", projection("group: certs"), "spec.projection.group"},
		"KindWithSpace":          {"A kind is a name.", projection("kind: A B"), "spec.projection.kind"},
		"PluralWithDot":          {"A plural is a name.", projection("plural: a.b"), "spec.projection.plural"},
		"Scope":                  {"There are two scopes.", projection("scope: Both"), "Unsupported value"},
		"ShortName":              {"Short names are in lower case.", projection("shortNames: [Certs]"), "spec.projection.shortNames"},
		"Category":               {"Categories are in lower case.", projection("categories: [All]"), "spec.projection.categories"},
		"EmptyStep":              {"A step that does nothing is a mistake.", step(""), "exactly one of delete, regex, template and cel must be set"},
		"TwoInOneStep":           {"The agent does one and ignores the other.", step("delete: {path: a}, regex: {path: a}"), "exactly one of delete, regex, template and cel must be set"},
		"TwoInOneStatusStep":     {"Steps of status are steps.", source + "mutation: {status: [{delete: {path: a}, template: {path: a, template: b}}]}", "exactly one of delete, regex, template and cel must be set"},
		"NoPath":                 {"A step changes something.", step("delete: {}"), "path: Required"},
		"EmptyPath":              {"A path names something.", step(`delete: {path: ""}`), "path"},
		"NoTemplate":             {"A template is needed.", step("template: {path: a}"), "template: Required"},
		"NoExpression":           {"An expression is needed.", step(`cel: {path: a, expression: ""}`), "expression"},
		"LongExpression":         {"An expression is no longer than what can be compiled.", step(`cel: {path: a, expression: "` + strings.Repeat("1+", 5000) + `1"}`), "expression"},
		"Pattern":                {"A pattern must be a regular expression.", step(`regex: {path: a, pattern: "("}`), "missing closing )"},
		"ReferencePattern":       {"A pattern must be a regular expression.", related(secret + `, object: {reference: {path: a, regex: {pattern: "["}}}`), "missing closing ]"},
		"DuplicateIdentifier":    {"An identifier is a key.", source + "related: [{" + secret + "," + byPath + "},{" + secret + "," + byPath + "}]", "each identifier must be unique"},
		"DuplicateDefault":       {"A default identifier is a key, too.", source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}},{identifier: secret, origin: service, kind: Secret, " + byPath + "}]", "each identifier must be unique"},
		"NoIdentifier":           {"Only the oldest form has none.", related("origin: service, kind: Secret, " + byPath), "identifier must be set"},
		"Identifier":             {"An identifier is part of an annotation's key.", related("identifier: a/b, origin: service, kind: Secret, " + byPath), "identifier"},
		"Origin":                 {"There are two sides.", related("identifier: a, origin: moon, kind: Secret, " + byPath), "Unsupported value"},
		"NoOrigin":               {"An origin is needed.", related("identifier: a, kind: Secret, " + byPath), "origin: Required"},
		"Kind":                   {"kind can only say two.", related("identifier: a, origin: kcp, kind: Pod, " + byPath), "Unsupported value"},
		"NeitherKindNorResource": {"Something must be named.", related("identifier: a, origin: kcp, " + byPath), "either kind or version and resource must be set"},
		"KindAndResource":        {"Only one thing can be named.", related("identifier: a, origin: kcp, kind: Secret, version: v1, resource: secrets, " + byPath), "either kind or version and resource must be set"},
		"ResourceAlone":          {"A resource has a version.", related("identifier: a, origin: kcp, resource: secrets, " + byPath), "version and resource must be set together"},
		"GroupAlone":             {"A group is not a resource.", related("identifier: a, origin: kcp, kind: Secret, group: g.io, " + byPath), "group can only be set beside version and resource"},
		"IdentityOfCore":         {"Built-in resources have no identity.", related("identifier: a, origin: kcp, version: v1, resource: secrets, identityHash: abc, " + byPath), "identityHash can only be set beside"},
		"NoObject":               {"Objects must be found somehow.", related(secret), "exactly one of object and reference must be set"},
		"ObjectAndReference":     {"Two forms of one thing.", related(secret + ", reference: {name: {path: a}}, " + byPath), "exactly one of object and reference must be set"},
		"EmptyObject":            {"Objects must be found somehow.", related(secret + ", object: {}"), "exactly one of selector, reference and template must be set"},
		"TwoWaysToFind":          {"Objects are found in one way.", related(secret + ", object: {reference: {path: a}, template: {template: b}}"), "exactly one of selector, reference and template must be set"},
		"EmptyNamespace":         {"Namespaces must be found somehow.", related(secret + ", object: {reference: {path: a}, namespace: {}}"), "exactly one of selector, reference and template must be set"},
		"TwoWaysToFindNamespace": {"Namespaces are found in one way.", related(secret + ", object: {reference: {path: a}, namespace: {reference: {path: a}, template: {template: b}}}"), "exactly one of selector, reference and template must be set"},
		"NoRewrite":              {"Names must not leak.", related(secret + ", object: {selector: {matchLabels: {a: b}}}"), "rewrite: Required"},
		"OpenedByAnything": {
			"Only * and the logical cluster stand for something else.",
			related(secret + `, consumerMayName: {objects: ["$remoteName-[a-z]"]}, ` + byPath), "consumerMayName.objects[0]",
		},
		"EmptyRewrite":        {"Names must not leak.", related(secret + ", object: {selector: {matchLabels: {a: b}, rewrite: {}}}"), "exactly one of regex and template must be set"},
		"TwoRewrites":         {"A rewrite is a regular expression or a template, never both.", related(secret + `, object: {selector: {matchLabels: {a: b}, rewrite: {regex: {replacement: a}, template: {template: b}}}}`), "exactly one of regex and template must be set"},
		"EmptyWatch":          {"A watch needs a way back.", related(secret + ", watch: {}, " + byPath), "exactly one of byOwner and bySelector must be set"},
		"TwoWatches":          {"There is one way back.", related(secret + ", watch: {byOwner: {}, bySelector: {}}, " + byPath), "exactly one of byOwner and bySelector must be set"},
		"RelatedTwoInOneStep": {"Steps of related resources are steps.", related(secret + ", mutation: {spec: [{delete: {path: a}, regex: {path: a}}]}, " + byPath), "exactly one of delete, regex, template and cel must be set"},
		"NoEnabled":           {"It must be said whether objects are synced.", source + "synchronization: {}", "enabled: Required"},
		"AgentName":           {"An agent's name is the value of a label.", source + "agentName: My.Agent", "spec.agentName"},
		"DeletionPolicy":      {"There are two policies.", source + "deletionPolicy: Keep", "Unsupported value"},
		"ManagementAction":    {"There are six actions.", source + "managementPolicies: [Destroy]", "Unsupported value"},
		"ExistingObjects":     {"There are three policies.", source + "existingObjects: Replace", "Unsupported value"},
		"UnboundWorkspaces":   {"There are two policies.", source + "unboundWorkspaces: Forget", "Unsupported value"},
		"ClaimVerbs":          {"There are two ways to claim.", source + "apiExport: {claimVerbs: Some}", "Unsupported value"},
		"EmptyExport":         {"A name is not empty.", source + `apiExport: {name: ""}`, "spec.apiExport.name"},
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
		"KindBefore":        {"What is not published yet can be corrected.", unpublished, before, "resource: {apiGroup: cert-manager.io, kind: Issuer}", ""},
		"KindAfter":         {"Copies of one kind cannot become those of another.", isPublished, before, strings.Replace(before, "Certificate", "Issuer", 1), "the group and kind of spec.resource cannot change"},
		"GroupAfter":        {"Copies of one group cannot become those of another.", isPublished, before, strings.Replace(before, "cert-manager.io", "certs.io", 1), "the group and kind of spec.resource cannot change"},
		"VersionsAfter":     {"Versions come and go.", isBound, before, strings.Replace(before, "kind: Certificate", "kind: Certificate, versions: [v1]", 1), ""},
		"ProjectionUnbound": {"What no one has bound can be renamed.", isPublished, before, projection("group: a.b, kind: X, plural: xs, scope: Cluster"), ""},
		"ProjectionGone":    {"No projection is another name.", isBound, before, source, "group, kind, plural and scope of spec.projection cannot change"},
		"ProjectedGroup":    {"A group that is bound stays.", isBound, before, projection("group: a.b, kind: Sertifikat, plural: sertifikater, scope: Namespaced"), "group, kind, plural and scope of spec.projection cannot change"},
		"ProjectedKind":     {"A kind that is bound stays.", isBound, before, projection("kind: X, plural: sertifikater, scope: Namespaced"), "group, kind, plural and scope of spec.projection cannot change"},
		"ProjectedPlural":   {"A plural that is bound stays.", isBound, before, projection("kind: Sertifikat, plural: x, scope: Namespaced"), "group, kind, plural and scope of spec.projection cannot change"},
		"ProjectedScope":    {"A scope that is bound stays.", isBound, before, projection("kind: Sertifikat, plural: sertifikater, scope: Cluster"), "group, kind, plural and scope of spec.projection cannot change"},
		"ShortNames":        {"Short names may change at any time.", isBound, before, projection("kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [], categories: [all], versions: {v1: v2}"), ""},
		"AllElse":           {"The rest may change at any time.", isBound, before, before + "\nnaming: {name: x}\nmutation: {spec: [{delete: {path: a}}]}\nagentName: other\ndeletionPolicy: Delete", ""},
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

// TestGuide shows that what guides of api-syncagent have shown through the years is accepted as it is, and kept so when it is written back.
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
			for _, added := range []string{"providerConfigRef", "managementPolicies", "deletionPolicy", "retainSchemas", "stateNamespace"} {
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
		StateNamespace:          "crossplane-system",
		RetainSchemas:           new(true),
		Resource:                publishedv1alpha1.SourceResource{APIGroup: "cert-manager.io", Kind: "Certificate"},
	}
	if diff := cmp.Diff(want, pr.Spec); diff != "" {
		t.Errorf("spec: -want, +got:\n%s", diff)
	}
}
