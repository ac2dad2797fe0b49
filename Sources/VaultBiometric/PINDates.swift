/// The usual forms of dates in digits.
enum PINDates {
    /// The years in a living person's life, and a few future years.
    private static let years = 1900...2030
    private static let daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Whether the digits are a date or a year, in one of the usual orders.
    static func contain(_ digits: UnsafeRawBufferPointer) -> Bool {
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + Int($1) } }
        func isDay(_ day: Int, _ month: Int) -> Bool {
            daysOfMonth.indices.contains(month - 1) && (1...daysOfMonth[month - 1]).contains(day)
        }
        /// Whether the four digits from `start` are day and month, or month and day.
        func isDay(at start: Int) -> Bool {
            let (first, second) = (number(start..<start + 2), number(start + 2..<start + 4))
            return isDay(first, second) || isDay(second, first)
        }
        switch digits.count {
        case 4: return isDay(at: 0) || years.contains(number(0..<4))
        case 6:
            // 150885, 081585, 850815; 198508, 081985, 181985.
            let isMonthOfYear =
                years.contains(number(0..<4)) && (1...12).contains(number(4..<6))
                || years.contains(number(2..<6))
                    && ((1...12).contains(number(0..<2)) || digits[0] != 0 && digits[1] != 0)
            return isDay(at: 0) || isDay(at: 2) || isMonthOfYear
        case 8:
            return years.contains(number(4..<8)) && isDay(at: 0) || years.contains(number(0..<4)) && isDay(at: 4)
        default: return false
        }
    }
}
