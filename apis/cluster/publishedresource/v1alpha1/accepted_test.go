package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAccepted shows that forms which have a meaning are accepted.
func TestAccepted(t *testing.T) {
	c := prepared(t)
	for name, spec := range map[string]string{
		"Minimal":             source,
		"CoreGroup":           `resource: {apiGroup: "", kind: ConfigMap}`,
		"Versions":            "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}",
		"VersionsEmpty":       "resource: {apiGroup: a.b, kind: C, version: v1, versions: []}",
		"ProjectedVersion":    "resource: {apiGroup: a.b, kind: C, versions: [v1]}\nprojection: {version: v2}",
		"ProjectedVersions":   projection("versions: {v1: v2, v2: v1}"),
		"NoShortNames":        projection("shortNames: [], categories: []"),
		"NullShortNames":      projection("shortNames: null, categories: null"),
		"CrossplaneFields":    projection(`crossplaneFields: ["*", compositionSelector]`),
		"NamespaceByLabels":   source + "filter: {namespace: {matchLabels: {a: b}}}",
		"NamespaceByName":     source + "filter: {namespace: my-app}",
		"Regex":               step(`regex: {path: a, pattern: "(.+)", replacement: "x-$1"}`),
		"RegexWithoutPattern": step("regex: {path: a, replacement: b}"),
		"Template":            step(`template: {path: a, template: "{{ .Value }}"}`),
		"Delete":              step("delete: {path: a}"),
		"CEL":                 step("cel: {path: a, expression: value + 1}"),
		"RelatedOfAnyKind": related("identifier: a, origin: kcp, group: g.io, version: v1, resource: things, " +
			"identityHash: abc, " + byPath),
		"RelatedOfCore": related("identifier: a, origin: kcp, version: v1, resource: secrets, " + byPath),
		"RelatedOpened": related(secret + `, consumerMayName: {namespaces: ["team-$remoteClusterName-*"], objects: ["*"]}, ` +
			byPath),
		"RelatedProjected": related("identifier: a, origin: kcp, version: v1, resource: secrets, " +
			"projection: {resource: things, group: g.io}, " + byPath),
		"SyncStatusOfKCP":   related("identifier: a, origin: kcp, kind: Secret, syncStatus: true, " + byPath),
		"SyncStatusWatched": related(secret + ", syncStatus: true, watch: {byOwner: {}}, " + byPath),
		"NoSyncStatus":      related(secret + ", syncStatus: false, " + byPath),
		"WatchBySelector":   related(secret + ", watch: {bySelector: {matchLabels: {a: b}}}, " + byPath),
		"TwoIdentifiers": source + "related: [{" + secret + "," + byPath + "}," +
			"{identifier: ca, origin: service, kind: Secret, " + byPath + "}]",
		"TwoWithoutIdentifier": source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}}," +
			"{origin: kcp, kind: ConfigMap, reference: {name: {path: a}}}]",
		"NotSynced": source + "synchronization: {enabled: false}",
		"Export": source + "apiExport: {name: certs, endpointSlice: certs, create: true, " +
			"maximalPermissionPolicy: {local: {}}, claimVerbs: Needed}\nagentName: certs",
		"OurOwn": source + "createdNamespaces: {labels: {a: b}, annotations: {c: d}, whenEmpty: Delete}\n" +
			"existingObjects: Refuse\nserviceClusterConfigRef: {name: other}",
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "accepted", spec), client.DryRunAll,
				client.FieldValidation(metav1.FieldValidationStrict))
			if err != nil {
				t.Error(err)
			}
		})
	}
}
