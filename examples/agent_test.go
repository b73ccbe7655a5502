package examples

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestAgentsNames shows that the guide for a takeover of api-syncagent names every flag, field, event, metric and
// object of the agent, and each one that this provider adds.
func TestAgentsNames(t *testing.T) {
	guide := read(t, "../docs/migrate-from-api-syncagent.md")
	_, tables, found := strings.Cut(guide, "\n## What becomes of what\n")
	if !found {
		t.Fatal("the guide has no tables")
	}
	for _, name := range []string{
		"--kubeconfig`", "--kcp-kubeconfig", "--namespace`", "--agent-name", "--apiexportendpointslice-ref",
		"--apiexport-hostport-override", "--published-resource-selector", "--enable-leader-election",
		"--kubeconfig-host-override", "--kubeconfig-ca-file-override", "--metrics-address", "--health-address",
		"--disabled-controllers", "--log-debug", "--log-format", "ObjectAccepted", "ObjectPlaced", "ObjectSynced",
		"ObjectStatusSynced", "ObjectCleanup", "ObjectDeleted", "ReconcilingError", "AddingResourceSchemas",
		"RemovingResourceSchemas", "AddingPermissionClaims", "sync_agent_published_resource", "syncagent.<agent>",
		objectsync.Finalizer, objectsync.LabelCluster, objectsync.AnnotationRelatedPrefix, objectsync.LabelState,
		objectsync.AnnotationNamespace, objectsync.AnnotationKind, objectsync.LabelOrphaned,
		objectsync.LabelCreatedFor, objectsync.LabelRelatedCluster, kcp.AnnotationAddedClaims,
		v1alpha1.LabelKeyAgentName, v1alpha1.AnnotationKeySourceGeneration,
	} {
		if !strings.Contains(tables, "`"+name) {
			t.Errorf("the tables do not name %s", name)
		}
	}
	for _, name := range []string{ // In rows with others of the same domain.
		objectsync.LabelNamespaceHash, objectsync.LabelNameHash, objectsync.AnnotationName, objectsync.AnnotationPath,
		objectsync.AnnotationRelatedObject, objectsync.FieldManagerRelated + "<hash>",
	} {
		if _, short, _ := strings.Cut(name, "/"); !strings.Contains(tables, short+"`") {
			t.Errorf("the tables do not name %s", name)
		}
	}
}
