# Makes a bill of materials (SPDX 2.3) of what `go version -m` prints of a program. It has no time, so that the same program has the same bill.
# Variables: name and version of the program, sum (SHA-256), project (URL).

# add adds a module. The first is that of the program.
function add(module, version, more) {
	id = "SPDXRef-" n
	purl = "pkg:golang/" tolower(module) "@" version
	sub(/\+/, "%2B", purl)
	packages = packages (n ? ",\n" : "") "{\"SPDXID\":\"" id "\",\"name\":\"" module "\",\"versionInfo\":\"" version "\"," more \
		"\"downloadLocation\":\"NOASSERTION\",\"filesAnalyzed\":false,\"externalRefs\":[{\"referenceCategory\":\"PACKAGE-MANAGER\"," \
		"\"referenceType\":\"purl\",\"referenceLocator\":\"" purl "\"}]}"
	relations = relations (n ? ",\n" : "") "{\"spdxElementId\":\"SPDXRef-" (n ? "0" : "DOCUMENT") "\",\"relationshipType\":\"" \
		(n ? "DEPENDS_ON" : "DESCRIBES") "\",\"relatedSpdxElement\":\"" id "\"}"
	n++
}

BEGIN { n = 0 }
NR == 1 { go = substr($NF, 3) }
$1 == "mod" { add($2, version, "\"checksums\":[{\"algorithm\":\"SHA256\",\"checksumValue\":\"" sum "\"}],") }
$1 == "dep" { add($2, $3, "") }
$1 == "=>" { replaced = 1 } # Its code is not that of the module which the bill names.
END {
	if (replaced || n < 2) exit 1
	add("stdlib", go, "")
	print "{\"spdxVersion\":\"SPDX-2.3\",\"dataLicense\":\"CC0-1.0\",\"SPDXID\":\"SPDXRef-DOCUMENT\",\"name\":\"" name "\","
	print "\"documentNamespace\":\"" project "/releases/download/" version "/" name "-" sum "\","
	print "\"creationInfo\":{\"created\":\"1970-01-01T00:00:00Z\",\"creators\":[\"Organization: The provider-kcp Authors\"]},"
	print "\"packages\":[\n" packages "],\n\"relationships\":[\n" relations "]}"
}
