import Foundation
import Testing
import VaultBase

@Suite("JSON")
struct JSONTests {
    private func parse(_ text: String) -> JSONValue? { JSONValue(objectIn: Array(text.utf8)) }

    private func nested(_ levels: Int) -> String {
        #"{"a":"# + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}"
    }

    @Test func `when nesting exceeds 32 levels, then parsing fails`() {
        #expect(parse(nested(32)) != nil)
        #expect(parse(nested(33)) == nil)
        #expect(parse(nested(100_000)) == nil)
        #expect(parse(#"{"a":"# + String(repeating: "[", count: 100_000)) == nil)
        #expect(parse(#"{"a":""# + String(repeating: "[{", count: 100_000) + #""}"#)?["a"]?.string?.count == 200_000)
        // The limit is on nesting levels, not on the number of brackets.
        #expect(parse(#"{"a":["# + String(repeating: "[],", count: 100) + "[]]}")?["a"]?.array?.count == 101)
    }

    @Test(
        arguments: [
            ("9007199254740991", "9007199254740991"), ("9007199254740992", "9007199254740992"),
            ("9007199254740993", "9007199254740993"), ("-9007199254740993", "-9007199254740993"),
            ("18446744073709551615", "18446744073709551615"), ("18446744073709551616", nil),
            ("9007199254740993.0", nil), ("9007199254740993e0", nil), ("1e3", "1000"), ("1.5", nil), ("0", "0"),
        ])
    func `when a whole number is large, then its digits survive`(text: String, digits: String?) throws {
        let json = try #require(parse(#"{"id":\#(text)}"#))
        #expect(json["id"]?.exactInteger == digits)
        #expect(json["id"]?.number == Double(text))
        if digits == text { #expect(String(decoding: json.encoded(), as: UTF8.self) == #"{"id":\#(text)}"#) }
    }

    @Test func `when large numbers differ, then their values differ`() {
        #expect(parse(#"{"id":9007199254740993}"#) != parse(#"{"id":9007199254740992}"#))
    }

    @Test(
        arguments: [
            "", "{", "}", "[]", "1", "null", #"{"a":1,}"#, #"{"a":1"#, #"{"a" 1}"#, #"{"a":01}"#, #"{"a":+1}"#,
            #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":1e999}"#, #"{"a":NaN}"#, #"{"a":tru}"#,
            #"{"a":nullx}"#, #"{"a":"x}"#, "{\"a\":\"\n\"}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u+123"}"#,
            #"{"a":"\ud800"}"#, #"{"a":"\ud800\u0041"}"#, #"{"a":"\udc00"}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":1}x"#,
            #"{"a":1}{"#, #"{"a":[1 2]}"#, #"{"a":[,]}"#, #"{"a":[1,]}"#, #"{,}"#, #"{"a":1/**/}"#, #"{"a":"\"#,
        ])
    func `when the text is no JSON, then parsing fails`(text: String) {
        #expect(parse(text) == nil)
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3]])
    func `when the text is not UTF-8, then parsing fails`(bytes: [UInt8]) {
        #expect(JSONValue(objectIn: Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)) == nil)
    }

    @Test func `when the text is valid JSON, then all values match`() throws {
        let text =
            "\u{FEFF} \t\r\n" + #"{ "a" : [ true , false,null,-1.5E+2 ,"" , {} , [] ], "b\n\u00e9":"#
            + #""\"\\\/\b\f\n\r\t\u0000\uD83D\uDE00é😀" } "#
        let json = try #require(parse(text))
        #expect(
            json["a"]
                == .array([.bool(true), .bool(false), .null, .number(-150), .string(""), .object([:]), .array([])]))
        #expect(json["b\né"]?.string == "\"\\/\u{8}\u{C}\n\r\t\0😀é😀")
    }

    @Test(arguments: [#"{"a":1,"a":1}"#, #"{"b":[{"a":1,"\u0061":2}]}"#, #"{"a":null,"a":1}"#])
    func `when a name repeats, then strict parsing fails`(text: String) {
        #expect(parse(text) != nil)
        #expect(JSONValue(strictObjectIn: Array(text.utf8)) == nil)
        #expect(JSONValue(strictObjectIn: Array(#"{"a":{"a":{}},"b":":\":{"}"#.utf8)) != nil)
    }
}
