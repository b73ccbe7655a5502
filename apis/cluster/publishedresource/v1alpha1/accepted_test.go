package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		"CrossplaneFields": {
			reason: "Consumers may be shown some fields of Crossplane, or all.",
			spec:   projection(`crossplaneFields: ["*", compositionSelector]`),
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
			spec: related("identifier: a, origin: kcp, group: g.io, version: v1, resource: things, identityHash: abc, " +
				byPath),
		},
		"RelatedOfCore": {
			reason: "Resources of the core group have no group.",
			spec:   related("identifier: a, origin: kcp, version: v1, resource: secrets, " + byPath),
		},
		"RelatedOpened": {
			reason: "The service owner may open what consumers name.",
			spec: related(secret + `, consumerMayName: {namespaces: ["team-$remoteClusterName-*"], objects: ["*"]}, ` +
				byPath),
		},
		"RelatedProjected": {
			reason: "Related resources may be something else in kcp.",
			spec: related("identifier: a, origin: kcp, version: v1, resource: secrets, " +
				"projection: {resource: things, group: g.io}, " + byPath),
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
			spec: source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}}," +
				"{origin: kcp, kind: ConfigMap, reference: {name: {path: a}}}]",
		},
		"NotSynced": {reason: "Only the schema may be published.", spec: source + "synchronization: {enabled: false}"},
		"Export": {
			reason: "The APIExport may be named, and made.",
			spec: source + "apiExport: {name: certs, endpointSlice: certs, create: true, " +
				"maximalPermissionPolicy: {local: {}}, claimVerbs: Needed}\nagentName: certs",
		},
		"OurOwn": {
			reason: "What the agent does not have.",
			spec: source + "createdNamespaces: {labels: {a: b}, annotations: {c: d}, whenEmpty: Delete}\n" +
				"existingObjects: Refuse\nserviceClusterConfigRef: {name: other}",
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
